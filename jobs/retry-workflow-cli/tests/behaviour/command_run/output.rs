//! The output of commands: kept with their attempts, and shown.

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
fn the_history_has_the_output_of_each_attempt() {
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
            serde_json::json!({
                "stdout": "read 2", "stderr": "no \u{1b}[2Jluck with ***", "exit_code": 7,
            })
        );
        // The output is stored only once.
        assert_eq!(item["failure"]["output"], Value::Null);
    }
    let stored = std::fs::read(place.path("retry-workflow.db")).unwrap();
    let is_in = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(is_in("luck with ***") && !is_in("s3cret-token"));
}

#[test]
fn of_a_long_output_the_first_and_the_last_are_kept() {
    // The secret crosses the end of the first part.
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
    assert_eq!(lines[1], format!("[… {left_out} bytes omitted …]"));
}

#[test]
fn a_failure_without_stderr_shows_the_end_of_stdout() {
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
    ran.says("is not a number\n      stdout\n        no number\n");
}

/// Items that succeed, fail with an exit status, and die of a signal.
fn three() -> Place {
    Place::with(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template:\n    - shell: 'exec ./work.sh ${item.id}'\n",
    )
    .items(&["good", "bad", "killed"])
    .script("work.sh", "case $1 in bad) exit 7;; killed) kill -9 $$;; esac")
}

#[test]
#[cfg(unix)]
fn files_beside_a_store_are_as_private_as_the_store() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = three();
    place.ends(3, &["run", "job.yml", "--results", "results"]);
    let mut files = Vec::new();
    for item in std::fs::read_dir(place.path("results")).unwrap() {
        let inside = std::fs::read_dir(item.unwrap().path()).unwrap();
        files.extend(inside.map(|file| file.unwrap().path()));
    }
    assert!(files.len() > 1, "{files:?}");
    for file in files {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn events_are_one_object_a_line_and_the_report_is_the_last() {
    let place = three();
    let ran = place.ends(3, &["run", "job.yml", "--events"]);
    let events: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let word = |event: &Value| event["event"].as_str().unwrap().to_owned();
    assert_eq!(word(&events[0]), "started");
    assert_eq!(word(events.last().unwrap()), "report");
    let attempts: Vec<_> = events.iter().filter(|event| word(event) == "attempt").collect();
    assert_eq!(attempts.len(), 3);
    for attempt in &attempts {
        assert_eq!(attempt["job"], "job-1");
        assert!(attempt["duration"].is_number() && attempt["wait"] == 0, "{attempt}");
        assert!(attempt["started"].as_str().unwrap().ends_with('Z'), "{attempt}");
        assert!(attempt["time"].as_str().unwrap().ends_with('Z'), "{attempt}");
    }
    let said = |at: usize, key: &str| attempts[at][key].clone();
    assert_eq!((said(0, "item"), said(0, "state")), ("good".into(), "succeeded".into()));
    assert_eq!((said(1, "outcome"), said(1, "state")), ("failed".into(), "dead".into()));
    assert_eq!(attempts[1]["failure"]["output"]["exit_code"], 7);
    assert_eq!(attempts[2]["failure"]["output"]["signal"], 9);
    let progress = events.iter().rfind(|event| word(event) == "progress").unwrap();
    assert_eq!(
        (&progress["counts"]["succeeded"], &progress["counts"]["dead"]),
        (&1.into(), &2.into())
    );
}

#[test]
fn results_are_whole_files_by_item_and_attempt() {
    let place = Place::with(
        "name: job\nenv: { TOKEN: { secret: true, value: s3cret-token } }\nmap:\n  input: items.json\n  agent_template:\n    - shell: 'echo one; printf s3cret-; sleep 0.1; echo token'\n    - shell: 'head -c 3000000 /dev/zero; echo x >> tries; echo \"$(wc -l < tries)\" >&2; exit 1'\n      retry_config: { attempts: 2, initial_delay: 5ms }\n",
    )
    .items(&["../up/a"]);
    place.ends(3, &["run", "job.yml", "--results", "out"]);
    let file =
        |name: &str| std::fs::read(place.path(&format!("out/%2E.%2Fup%2Fa/{name}"))).unwrap();
    let first = file("0-1.stdout");
    assert!(first.starts_with(b"one\n***\n\0\0"), "{:?}", &first[..20]);
    assert_eq!(first.len(), "one\n***\n".len() + 3_000_000);
    assert_eq!(file("0-2.stdout").len(), 3_000_000);
    assert_eq!(
        (file("0-1.stderr").as_slice(), file("0-2.stderr").as_slice()),
        (&b"1\n"[..], &b"2\n"[..])
    );
    assert!(!place.path("up").exists());
    // The files of an earlier run with this name are overwritten.
    place.ends(3, &["run", "job.yml", "--results", "out"]);
    assert_eq!(
        (file("0-1.stdout").len(), file("0-1.stderr").as_slice()),
        (first.len(), &b"3\n"[..])
    );
}

#[test]
fn verbose_prints_each_line_behind_its_item() {
    let place = place("echo one; printf 'two \\033[2J%s\\n' $TOKEN >&2; printf end");
    let ran = place.ends(0, &["run", "job.yml", "-v"]);
    for line in ["\na: one\n", "\na: two \\u{1b}[2J***\n", "\na: end\n"] {
        assert!(ran.err.contains(line), "{ran:#?}");
    }
    place.ends(2, &["run", "job.yml", "-v", "--quiet"]);
    let running = place_that_waits();
    let mut live = running.spawn(&["run", "job.yml", "-v", "--json"]);
    assert!(live.line_with("a: it waits").is_some(), "before the command has ended");
    running.write("go", "");
    assert_eq!(live.ended().code, Some(0));
}

fn place_that_waits() -> Place {
    place("echo it waits; while ! [ -f go ]; do sleep 0.05; done")
}

#[test]
fn the_end_of_the_output_of_a_success_is_stored() {
    let history = |body: &str, flags: &[&str]| {
        let place = place(body);
        place.ends(0, &[&["run", "job.yml"], flags].concat());
        let shown = place.ends(0, &["items", "show", "job-1", "a"]).out;
        (place.object(&["items", "show", "job-1", "a"])["history"].clone(), shown)
    };
    let (both, shown) = history("echo said; echo warned >&2", &[]);
    assert_eq!(both[0]["output"], "said\nwarned");
    assert!(shown.contains("printed") && shown.contains("warned"), "{shown}");
    // The item's own output is not shown twice.
    let (one, shown) = history("echo said", &[]);
    assert_eq!(one[0]["output"], "said");
    assert!(!shown.contains("printed"), "{shown}");
    let (long, _) = history("seq 1 9000", &[]);
    let long = long[0]["output"].as_str().unwrap();
    assert!(long.len() == 1024 && long.ends_with("\n8999\n9000"), "{long}");
    for (body, flags) in [("true", &[][..]), ("echo said", &["--keep-output", "0"])] {
        let (nothing, _) = history(body, flags);
        assert_eq!(nothing[0].get("output"), None, "{nothing}");
    }
}

#[test]
fn the_stored_length_of_output_is_configurable() {
    let body = "seq 1 9000; seq 1 9000 >&2; exit 3";
    let kept = |size: &[&str]| {
        let place = place(body);
        place.ends(3, &[&["run", "job.yml"], size].concat());
        place.object(&["dlq", "show", "a"])["history"][0]["failure"]["output"].clone()
    };
    for (size, part) in
        [(&["--keep-output", "4KiB"][..], 1024), (&["--keep-output", "1m"], 256 * 1024)]
    {
        let output = kept(size);
        for stream in ["stdout", "stderr"] {
            let text = output[stream].as_str().unwrap();
            let is_whole = !text.contains("bytes omitted");
            assert_eq!((is_whole, text.ends_with("\n9000")), (part > 40_000, true), "{text}");
            assert!(
                is_whole || (2 * part - 10..2 * part + 60).contains(&text.len()),
                "{}",
                text.len()
            );
        }
    }
    assert_eq!(kept(&["--keep-output", "0"]), serde_json::json!({ "exit_code": 3 }));
    let place = place(body);
    for wrong in ["2MiB", "much", "-1", "5g"] {
        let ran = place.ends(2, &["run", "job.yml", &format!("--keep-output={wrong}")]);
        ran.says("write bytes, KiB or MiB, such as 256KiB, and no more than 1MiB");
    }
}
