//! What commands write: kept with their attempts, and shown.

use serde_json::Value;

use super::support::Place;

/// An item whose command is `work.sh`.
fn place(body: &str) -> Place {
    Place::with(
        "name: job\nenv: { TOKEN: { secret: true, value: s3cret-token } }\nmap:\n  input: items.json\n  agent_template:\n    - shell: './work.sh'\n      retry_config: { attempts: 2, initial_delay: 5ms }\n",
    )
    .items(&["a"])
    .script("work.sh", body)
}

#[test]
fn the_history_of_a_failure_has_what_each_attempt_wrote() {
    let place = place(
        "echo x >> tries; echo \"read $(wc -l < tries)\"; printf 'no \\033[2Jluck with %s\\n' $TOKEN >&2; exit 7",
    );
    place.ends(3, &["run", "job.yml"]);
    for show in [["dlq", "show", "a"].as_slice(), &["items", "show", "job-1", "a"]] {
        let ran = place.ends(0, show);
        let shown =
            "      stdout\n        read 2\n      stderr\n        no \\u{1b}[2Jluck with ***\n";
        ran.says(&shown.replace('2', "1").replace("[1J", "[2J")).says(shown);
        let item = place.object(show);
        assert_eq!(item["history"][0]["failure"]["output"]["stdout"], "read 1");
        assert_eq!(
            item["history"][1]["failure"]["output"],
            serde_json::json!({ "stdout": "read 2", "stderr": "no \u{1b}[2Jluck with ***" })
        );
        // Once is enough.
        assert_eq!(item["failure"]["output"], Value::Null);
    }
    let stored = std::fs::read(place.path("retry-workflow.db")).unwrap();
    let is_in = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(is_in("luck with ***") && !is_in("s3cret-token"));
}

#[test]
fn of_a_long_output_the_first_and_the_last_are_kept() {
    // The secret lies where the first part ends.
    let place = place(
        "head -c 16380 /dev/zero | tr '\\0' a; printf $TOKEN; head -c 3000000 /dev/zero | tr '\\0' b; echo; echo end; exit 1",
    );
    place.ends(3, &["run", "job.yml"]);
    let item = place.object(&["dlq", "show", "a"]);
    let stdout = item["history"][0]["failure"]["output"]["stdout"].as_str().unwrap();
    assert!(stdout.len() < 33_000, "{}", stdout.len());
    assert!(stdout.starts_with("aaa") && stdout.ends_with("b\nend"));
    let left_out = 16_380 + "s3cret-token".len() + 3_000_000 + "\nend\n".len() - 2 * 16 * 1024;
    let lines: Vec<_> = stdout.lines().collect();
    assert!(lines[0].ends_with("aaa***"), "{}", &lines[0][16_000..]);
    assert_eq!(lines[1], format!("[… {left_out} bytes are left out here …]"));
}

#[test]
fn a_failure_says_the_end_of_stdout_where_there_is_no_stderr() {
    let place = place("seq 1 900000; echo 'row 13 has no date'; exit 2");
    place.ends(3, &["run", "job.yml"]);
    let item = place.object(&["dlq", "show", "a"]);
    let said = "exit status 2: 899999\n900000\nrow 13 has no date";
    assert_eq!(item["failure"]["message"], said);
}

#[test]
fn an_output_that_cannot_be_captured_is_kept() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'echo no number'\n    capture: total\n    capture_format: number\n",
    );
    place.ends(1, &["run", "job.yml"]);
    let ran = place.ends(0, &["items", "show", "job-1", "step 1"]);
    ran.says("is no number\n      stdout\n        no number\n");
}
