//! `exit_code` in `retry_on` and `abort_on`, and the codes that have a meaning of their own.

use super::support::Place;

/// The number of attempts of a step that always ends like this.
#[track_caller]
fn attempts(command: &str, lists: &str) -> usize {
    let place = Place::with(&format!(
        "commands:\n  - {command}\n    retry_config: {{ attempts: 2, initial_delay: 1ms, {lists} }}\n"
    ));
    place.ends(1, &["run", "job.yml"]);
    let items = place.objects(&["items", "show", "step 1"]);
    items[0]["history"].as_array().unwrap_or_else(|| panic!("{items:?}")).len()
}

#[track_caller]
fn is_retried(code: i32, lists: &str) -> bool {
    match attempts(&format!("shell: 'exit {code}'"), lists) {
        1 => false,
        2 => true,
        other => panic!("{other} attempts"),
    }
}

#[test]
fn a_step_retries_the_exit_codes_that_its_file_lists() {
    let lists = "retry_on: [{ exit_code: [75, 137] }]";
    assert_eq!([75, 137, 1, 136].map(|code| is_retried(code, lists)), [true, true, false, false]);
    let range = "retry_on: [exit_code: 64-78]";
    assert_eq!([63, 64, 78, 79].map(|code| is_retried(code, range)), [false, true, true, false]);
    let several = "retry_on: [network, { exit_code: 3 }, { exit_code: [4, 10-12] }]";
    assert_eq!([3, 4, 11, 5].map(|code| is_retried(code, several)), [true, true, true, false]);
    // The others in the list still count.
    assert_eq!(attempts("shell: 'echo connection refused >&2; exit 9'", several), 2);
}

#[test]
fn a_command_that_a_signal_has_killed_has_the_code_that_a_shell_reports() {
    for command in ["shell: 'kill -KILL $$'", "exec: ['sh', '-c', 'kill -KILL $$']"] {
        assert_eq!(attempts(command, "retry_on: [{ exit_code: 137 }]"), 2, "{command}");
        assert_eq!(attempts(command, "retry_on: [{ exit_code: 9 }]"), 1, "{command}");
    }
}

#[test]
fn abort_on_wins() {
    assert!(is_retried(2, "abort_on: [{ exit_code: [3, 9] }]"));
    assert!(!is_retried(9, "abort_on: [{ exit_code: [3, 9] }]"));
    assert!(!is_retried(9, "retry_on: [{ exit_code: 1-20 }], abort_on: [{ exit_code: 9 }]"));
    assert!(!is_retried(75, "retry_on: [transient], abort_on: [{ exit_code: 75 }]"));
    let refused = "shell: 'echo connection refused >&2; exit 9'";
    assert_eq!(attempts(refused, "retry_on: [{ exit_code: 9 }], abort_on: [network]"), 1);
    let both = "abort_on: [conflict, { exit_code: 9 }]";
    assert_eq!([2, 9].map(|code| is_retried(code, both)), [true, false]);
}

#[test]
fn a_temporary_failure_and_the_timeout_of_gnu_are_transient_and_no_other_code_is() {
    let transient = "retry_on: [transient]";
    assert_eq!([75, 124].map(|code| is_retried(code, transient)), [true, true]);
    for code in [1, 2, 69, 74, 76, 125, 126, 127, 137, 143, 255] {
        assert!(!is_retried(code, transient), "{code}");
    }
    let classes = "retry_on: [server_error]";
    assert_eq!([75, 124].map(|code| is_retried(code, classes)), [true, false]);
    let classes = "retry_on: [timeout]";
    assert_eq!([75, 124].map(|code| is_retried(code, classes)), [false, true]);
    // The text of the failure counts as well.
    assert_eq!(attempts("shell: 'echo connection refused >&2; exit 75'", "retry_on: [network]"), 2);
}

#[test]
fn the_history_shows_the_class_of_such_a_code() {
    let place = Place::with(
        "map:\n  input: items.json\n  agent_template:\n    - shell: 'echo ${item.says} >&2; exit ${item.code}'\n",
    )
    .file(
        "items.json",
        r#"[{"id":"a","code":75,"says":"later"},{"id":"b","code":124,"says":"late"},
            {"id":"c","code":75,"says":"connection refused"},{"id":"d","code":1,"says":"no"}]"#,
    );
    place.ends(3, &["run", "job.yml"]);
    let mut classes: Vec<_> = place
        .objects(&["dlq", "list"])
        .iter()
        .map(|letter| format!("{} {}", letter["id"], letter["failure"]["class"]))
        .collect();
    classes.sort();
    let expected = [
        r#""a" "server_error""#,
        r#""b" "timeout""#,
        r#""c" "network+server_error""#,
        r#""d" "other""#,
    ];
    assert_eq!(classes, expected);
}

#[test]
fn a_repair_and_a_task_match_exit_codes_too() {
    let place = Place::with(
        "tasks:\n  only:\n    shell: 'echo x >> log; exit 75'\n    retry_config: { attempts: 3, initial_delay: 1ms, retry_on: [{ exit_code: 75 }] }\n",
    );
    place.ends(3, &["run", "job.yml"]);
    assert_eq!(place.read("log").lines().count(), 3);
    let place = Place::with(
        "commands:\n  - shell: 'false'\n    on_failure:\n      shell: 'echo x >> log; exit 6'\n      retry_config: { attempts: 3, initial_delay: 1ms, retry_on: [{ exit_code: 5-6 }] }\n",
    );
    place.ends(1, &["run", "job.yml"]);
    assert_eq!(place.read("log").lines().count(), 3);
}
