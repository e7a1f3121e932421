//! Steps that come back without using up an attempt: they exit with 75 and say when, or fail with a
//! class that is uncounted.

use serde_json::Value;

use super::support::{Place, stores, until};

/// Says that it is not ready, with the wait `$1`, until it was called `$2` times.
const ASK: &str = "echo ask >> log; [ $(grep -c ask log) -lt $2 ] || exit 0\n\
                   echo not yet >&2; echo $1 > \"$RETRY_WORKFLOW_RETRY_AFTER\"; exit 75";

fn map(step: &str) -> String {
    format!(
        "name: job\nmap:\n  input: items.json\n  agent_template:\n    - shell: 'echo prepare >> log'\n    - {step}\n"
    )
}

fn place(file: &str) -> Place {
    Place::with(file).items(&["a"]).script("ask.sh", ASK)
}

fn history(place: &Place, item: &str) -> Vec<Value> {
    let shown = place.object(&["items", "show", item]);
    shown["history"].as_array().unwrap().clone()
}

#[test]
fn an_item_comes_back_at_its_step_and_uses_up_no_attempt() {
    for store in stores() {
        let place = place(&map("exec: ['./ask.sh', '1', '4']")).on(store);
        let running = place.spawn(&["run", "job.yml"]);
        until("it was asked twice", || place.read("log").matches("ask").count() == 2);
        running.signal("INT");
        assert_eq!(running.ended().code, Some(1));
        let shown = history(&place, "a");
        assert_eq!((shown.len(), &shown[0]["outcome"]), (1, &"postponed".into()));
        assert_eq!((&shown[0]["failure"]["times"], &shown[0]["wait"]), (&2.into(), &2.into()));
        place.ends(0, &["status"]).says("\npostponed 2 times: server_error\n");
        let says = "postponed 2 times after ";
        place
            .ends(0, &["items", "show", "a"])
            .says(says)
            .says("the last time started")
            .says("not yet");

        place.ends(0, &["resume"]).says("1 succeeded, of 1").says("attempts  1");
        assert_eq!(place.read("log"), "prepare\nask\nask\nask\nask\n");
        let shown = history(&place, "a");
        let outcomes: Vec<_> = shown.iter().map(|row| row["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, ["postponed", "succeeded"]);
        assert_eq!((&shown[0]["failure"]["times"], &shown[1]["attempt"]), (&3.into(), &1.into()));
    }
}

#[test]
fn its_output_is_appended_to_the_results_of_the_attempt() {
    let ask = ASK.replace("echo not", "echo asked; echo not");
    let place = place(&map("exec: ['./ask.sh', '1', '3']")).script("ask.sh", &ask);
    place.write(
        "job.yml",
        &place.read("job.yml").replace("echo prepare", "echo begun; echo prepare"),
    );
    let results = ["--results", "out"];
    let running = place.spawn(&[&["run", "job.yml"], &results[..]].concat());
    until("it was asked", || place.read("log").contains("ask"));
    running.signal("INT");
    running.ended();
    place.ends(0, &[&["resume"], &results[..]].concat());
    assert_eq!(place.read("out/a/0-1.stdout"), "begun\nasked\nasked\n");
    assert_eq!(place.read("out/a/0-1.stderr"), "not yet\nnot yet\n");
    // Another job starts over.
    place.ends(0, &[&["run", "job.yml"], &results[..]].concat());
    assert_eq!(place.read("out/a/0-1.stdout"), "begun\n");
}

#[test]
fn without_a_wait_it_is_an_ordinary_failure() {
    for step in ["exec: ['./ask.sh', '0', '9']", "shell: 'echo ask >> log; exit 75'"] {
        let place = place(&map(step));
        place.ends(3, &["run", "job.yml"]).says("attempts  1");
        assert_eq!(place.read("log"), "prepare\nask\n");
    }
    // So is any other exit code.
    let place = place(&map("exec: ['./ask.sh', '1', '9']"))
        .script("ask.sh", "echo ask >> log; echo 1 > \"$RETRY_WORKFLOW_RETRY_AFTER\"; exit 74");
    place.ends(3, &["run", "job.yml"]);
    assert_eq!(place.read("log"), "prepare\nask\n");
}

#[test]
fn steps_of_commands_reduce_and_tasks_can_be_postponed() {
    let ask = "exec: ['./ask.sh', '1', '3']";
    for file in [
        format!("name: job\ncommands:\n  - {ask}\n"),
        format!("name: job\nmode: graph\ntasks: {{ only: {{ {ask}, max_retries: 0 }} }}\n"),
        format!(
            "name: job\nmap: {{ input: items.json, agent_template: [shell: 'true'] }}\nreduce:\n  - {ask}\n"
        ),
        format!("name: job\ncommands:\n  - shell: 'true'\n    on_success:\n      - {ask}\n"),
    ] {
        let place = place(&file);
        place.ends(0, &["run", "job.yml"]);
        assert_eq!(place.read("log"), "ask\nask\nask\n", "{file}");
    }
}

#[test]
fn postponing_outside_of_item_steps_is_a_failure() {
    let ask = "exec: ['./ask.sh', '60', '9']";
    for (file, code) in [
        (
            format!(
                "name: job\nsetup: [{{ {ask} }}]\nmap: {{ input: items.json, agent_template: [shell: 'true'] }}\n"
            ),
            1,
        ),
        (format!("name: job\ncommands: [shell: 'true']\non_finish: [{{ {ask} }}]\n"), 0),
        (format!("name: job\ncommands: [{{ shell: 'exit 7', on_failure: {{ {ask} }} }}]\n"), 1),
        (format!("name: job\ncommands: [{{ shell: 'exit 7', on_failure: [{{ {ask} }}] }}]\n"), 1),
        (
            format!(
                "name: job\nmap: {{ input: items.json, agent_template: [shell: 'exit 7'] }}\nerror_policy: {{ on_item_failure: help }}\nhandlers: {{ help: [{{ {ask} }}] }}\n"
            ),
            3,
        ),
    ] {
        let place = place(&file);
        place.ends(code, &["run", "job.yml"]);
        assert_eq!(place.read("log"), "ask\n", "{file}");
        // A key that would do nothing is a mistake.
        place.write("job.yml", &file.replace("'9']", "'9'], max_postponed: 1h"));
        place.ends(2, &["check", "job.yml"]).says("this step cannot be postponed");
    }
}

#[test]
fn after_max_postponed_it_is_an_ordinary_failure_of_its_own_class() {
    let retry = "retry_config: { attempts: 2, initial_delay: 1ms }";
    let step = format!("{{ exec: ['./ask.sh', '1', '9'], max_postponed: 2s, {retry} }}");
    let place = place(&map(&step));
    place.ends(3, &["run", "job.yml"]).says("failures  postponed 1").says("attempts  2");
    assert_eq!(place.read("log"), "prepare\nask\nask\nask\nask\n");
    place.ends(0, &["dlq", "list", "--class", "postponed"]).says("not yet");
    // A re-drive starts over.
    place.write("job.yml", &map("exec: ['./ask.sh', '1', '7']"));
    place.ends(0, &["dlq", "retry", "job-1"]);
    assert_eq!(place.read("log").matches("ask").count(), 7);
}

/// The bounds of ordinary waits do not apply to postponements.
#[test]
fn neither_max_retry_after_nor_the_limits_of_retries_apply() {
    let limits =
        "max_retry_after: 1s, retry_config: { attempts: 2, retry_budget: 1s, max_elapsed: 1s }";
    let place = place(&map(&format!("{{ exec: ['./ask.sh', '1.5', '3'], {limits} }}")));
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("log").matches("ask").count(), 3);
}

/// The time that its steps run is limited, but not that of a step that is not ready.
#[test]
fn the_time_limit_of_an_item_does_not_count_it() {
    let slow = ASK.replace("echo not", "sleep 0.7; echo not");
    let file =
        map("exec: ['./ask.sh', '1', '4']").replace("map:\n", "map:\n  agent_timeout_secs: 2.5\n");
    let place = place(&file).script("ask.sh", &slow);
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("log").matches("ask").count(), 4);
}

/// Is limited until it was called `$1` times.
const LIMITED: &str = "echo ask >> log; [ $(grep -c ask log) -lt $1 ] || exit 0\n\
                       echo '429 Too Many Requests' >&2; echo ${2:-0} > \"$RETRY_WORKFLOW_RETRY_AFTER\"\n\
                       exit 22";

fn limited(step: &str) -> Place {
    Place::with(&map(step)).items(&["a"]).script("ask.sh", LIMITED)
}

#[test]
fn five_rate_limits_use_up_none_of_three_attempts() {
    let retry = "retry_config: { attempts: 3, initial_delay: 1ms, uncounted: [rate_limit] }";
    for store in stores() {
        let place = limited(&format!("{{ exec: ['./ask.sh', '6'], {retry} }}")).on(store);
        place.ends(0, &["run", "job.yml"]).says("1 succeeded, of 1").says("attempts  1");
        assert_eq!(place.read("log"), format!("prepare\n{}", "ask\n".repeat(6)));
        let shown = history(&place, "a");
        assert_eq!(
            (&shown[0]["outcome"], &shown[0]["failure"]["times"]),
            (&"postponed".into(), &5.into())
        );
        place
            .ends(0, &["items", "show", "a"])
            .says("1. postponed 5 times after ")
            .says("rate_limit: ");
        assert_eq!(shown[1]["attempt"], 1);
    }
}

#[test]
fn a_limit_that_never_ends_is_a_failure_after_max_postponed() {
    let retry = "retry_config: { attempts: 2, initial_delay: 1ms, uncounted: [rate_limit] }";
    let place =
        limited(&format!("{{ exec: ['./ask.sh', '99', '1'], max_postponed: 2s, {retry} }}"));
    place.ends(3, &["run", "job.yml"]).says("failures  rate_limit 1").says("attempts  2");
    assert_eq!(place.read("log").matches("ask").count(), 4);
}

#[test]
fn max_retry_after_ends_an_uncounted_failure() {
    let retry = "retry_config: { attempts: 2, uncounted: [rate_limit] }, max_retry_after: 30s";
    let place = limited(&format!("{{ exec: ['./ask.sh', '99', '60'], {retry} }}"));
    place.ends(3, &["run", "job.yml"]).says("attempts  1");
    assert_eq!(place.read("log").matches("ask").count(), 1);
}

/// Its retries end only by time.
#[test]
fn where_nothing_can_be_postponed_uncounted_failures_are_retried() {
    let retry = "attempts: 1, backoff: fixed, initial_delay: 1ms, uncounted: [rate_limit]";
    let place = |bound: &str| {
        let file = format!(
            "name: job\ncommands: [shell: 'true']\non_finish:\n  - exec: ['./ask.sh', '4']\n    \
             retry_config: {{ {retry}{bound} }}\n"
        );
        Place::with(&file).script("ask.sh", LIMITED)
    };
    let bounded = place(", max_elapsed: 1m");
    bounded.ends(0, &["run", "job.yml"]);
    assert_eq!(bounded.read("log"), "ask\n".repeat(4));
    place("").ends(2, &["check", "job.yml"]).says("add a `max_elapsed`");
}

#[test]
fn uncounted_failures_open_the_breaker() {
    let retry = "retry_config: { attempts: 1, uncounted: [rate_limit] }";
    let place = limited(&format!("{{ exec: ['./ask.sh', '9', '1'], {retry} }}"));
    let breaker = "error_policy: { circuit_breaker: { failure_threshold: 2, on_open: stop } }\n";
    place.write("job.yml", &(place.read("job.yml") + breaker));
    place.ends(1, &["run", "job.yml"]);
    assert_eq!(place.read("log").matches("ask").count(), 2);
}

#[test]
fn postponements_among_many_items_are_not_counted() {
    let ids: Vec<_> = (0..2_100).map(|id| id.to_string()).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let fails = map("shell: 'until [ -e all ]; do sleep 0.02; done; exit 1'");
    let file = fails + "  max_parallel: 1\nerror_policy: { max_failures: 1 }\n";
    let place = Place::with(&file).items(&ids);
    let running = place.spawn(&["run", "job.yml"]);
    until("all items are there", || place.ran(&["status"]).out.contains("\nitems     2,100: "));
    place.write("all", "");
    assert_eq!(running.ended().code, Some(1));
    place.ends(0, &["status"]).says("\npostponed not counted: 2,099 items wait\n");
    let status = place.object(&["status"]);
    assert!(status.as_object().unwrap().get("postponed").is_some_and(Value::is_null), "{status}");
}
