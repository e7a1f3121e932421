//! Items that fail: each action, each bound, the breaker, and the reports.

use super::support::{Place, Ran};

/// A map over these items with this error policy; items that begin with `bad` fail.
fn place(policy: &str, ids: &[&str]) -> Place {
    let workflow = format!(
        "name: job\nmode: mapreduce\nerror_policy: {policy}\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template:\n    - shell: './work.sh ${{item.id}}'\n"
    );
    Place::with(&workflow).items(ids).script(
        "work.sh",
        "echo $1 >> log\ncase $1 in bad*) [ -f repaired ] || { echo \"no luck with $1\" >&2; exit 1; }; esac",
    )
}

#[track_caller]
fn stops(policy: &str, because: &str, tried: &str) -> (Place, Ran) {
    let place = place(policy, &["bad1", "bad2", "bad3", "late", "good"]);
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says(because).says("to resume: retry-workflow resume job-1");
    assert!(ran.err.contains("stopping: "), "{ran:#?}");
    assert!(!ran.err.contains("Ctrl-C"), "nobody has asked for it: {ran:#?}");
    assert_eq!(place.read("log"), tried, "{policy}");
    (place, ran)
}

#[test]
fn items_that_fail_are_dead_letters_with_exit_code_3() {
    for policy in ["{}", "{ on_item_failure: dlq }", "{ continue_on_failure: true }"] {
        let place = place(policy, &["bad1", "good"]);
        place.ends(3, &["run", "job.yml"]).says("1 succeeded, 1 dead letter, of 2");
        place.ends(0, &["dlq", "list"]).says("no luck with bad1");
    }
}

#[test]
fn skipped_items_are_not_dead_letters() {
    let place = place("{ on_item_failure: skip }", &["bad1", "good"]);
    place.ends(0, &["run", "job.yml"]).says("1 succeeded, 1 skipped, of 2");
    place.ends(0, &["dlq", "list"]).says("no dead letters");
}

#[test]
fn items_are_requeued_as_often_as_the_policy_allows() {
    let policy = "{ on_item_failure: retry, retry_config: { max_attempts: 3, backoff: { fixed: { delay: 10ms } } } }";
    let place = place(policy, &["bad1", "good"]);
    place.ends(3, &["run", "job.yml"]);
    assert_eq!(place.sorted("log"), ["bad1", "bad1", "bad1", "good"]);
    assert_eq!(place.waits("bad1"), [10, 10, 0]);
    place.ends(0, &["explain", "job.yml"]).says("error_policy (items that are re-queued)");
}

#[test]
fn a_job_stops_for_an_item_for_the_first_for_so_many_or_for_a_share() {
    stops("{ on_item_failure: stop }", "stopped: `bad1` failed: exit status 1: no luck", "bad1\n");
    stops("{ continue_on_failure: false }", "`continue_on_failure` is false", "bad1\n");
    stops("{ max_failures: 2 }", "the limit `max_failures: 2` was reached", "bad1\nbad2\n");
    stops(
        "{ failure_threshold: 0.5, minimum_items: 2 }",
        "2 of 2 items failed, which is more than the `failure_threshold` of 0.5",
        "bad1\nbad2\n",
    );
}

#[test]
fn a_stopped_job_resumes_with_its_unfinished_items() {
    let (place, _) = stops("{ max_failures: 2 }", "max_failures", "bad1\nbad2\n");
    place.write("repaired", "");
    place.ends(3, &["resume"]).says(" of 5");
    assert_eq!(place.sorted("log"), ["bad1", "bad2", "bad3", "good", "late"], "none is run twice");
    place.ends(0, &["dlq", "retry", "--all"]).says("5 succeeded, of 5");
}

#[test]
fn handlers_of_the_file_decide_by_their_last_line() {
    let place = place(
        "{ on_item_failure: { custom: note } }\nhandlers:\n  note:\n    - shell: './note.sh ${item.id} ${error}'",
        &["bad1", "bad2", "bad3", "good"],
    )
    .script(
        "note.sh",
        "echo \"$1: $2\" >> noted; case $1 in bad1) echo so; echo skip;; bad2) exit 1;; esac",
    );
    // A handler that fails or prints nothing loses no item.
    place.ends(3, &["run", "job.yml"]).says("1 succeeded, 2 dead letters, 1 skipped, of 4");
    assert_eq!(
        place.sorted("noted"),
        ["bad1", "bad2", "bad3"].map(|id| format!("{id}: exit status 1: no luck with {id}"))
    );
}

#[test]
fn failures_are_reported_immediately_in_groups_or_at_the_end() {
    let told = |policy: &str| {
        let place = place(policy, &["bad1", "bad2", "bad3", "good"]).script(
            "work.sh",
            // Each item ends only after the earlier ones have been reported.
            "sleep 0.05; case $1 in bad*) echo \"no luck with $1\" >&2; exit 1; esac",
        );
        let ran = place.ends(3, &["run", "job.yml"]);
        let told = ran.err.lines().filter(|line| line.contains(": dead after 1 attempt: "));
        told.count()
    };
    assert_eq!(told("{ error_collection: aggregate }"), 0);
    assert_eq!(told("{ error_collection: immediate }"), 3);
    assert_eq!(told("{ error_collection: { batched: { size: 5 } } }"), 3);
}

#[test]
fn failures_reported_immediately_precede_the_next_ones() {
    let place = place("{ error_collection: immediate }", &["bad1", "wait"])
        .script("work.sh", "case $1 in bad*) exit 1; esac; while [ ! -f go ]; do sleep 0.05; done");
    let mut running = place.spawn(&["run", "job.yml"]);
    let told = running.line_with("bad1: dead after 1 attempt: exit status 1");
    assert!(told.is_some());
    place.write("go", "");
    assert_eq!(running.ended().code, Some(3));
}

#[test]
fn an_open_breaker_lets_items_wait_and_loses_none() {
    let place = place(
        "{ circuit_breaker: { failure_threshold: 2, success_threshold: 1, timeout: 1h, half_open_requests: 1 } }",
        &["a", "b", "c", "d"],
    )
    .script(
        "work.sh",
        "echo $1 >> log; [ -f repaired ] || { echo 'connection refused' >&2; exit 1; }",
    );
    let mut running = place.spawn(&["run", "job.yml", "--no-progress"]);
    running.line_with("open").unwrap();
    let is_open = || place.ran(&["status"]).out.contains("breaker   open until ");
    super::support::until("the status tells of it", is_open);
    assert_eq!(place.read("log").lines().count(), 2);
    running.signal("INT");
    assert_eq!(running.ended().code, Some(1));
    place.write("repaired", "");
    // The next process continues from the time that this one left.
    let store = rusqlite::Connection::open(place.path("retry-workflow.db")).unwrap();
    store.execute("UPDATE clock SET time = time + 3600000000", ()).unwrap();
    let ran = place.ends(3, &["resume", "--deadline", "1m"]);
    ran.says("2 succeeded, 2 dead letters, of 4");
    assert!(!place.ran(&["status"]).out.contains("breaker"));
}

#[test]
fn an_open_breaker_may_end_the_job() {
    let (place, _) = stops(
        "{ circuit_breaker: { failure_threshold: 2, timeout: 30s, on_open: stop } }",
        "the circuit breaker opened, and `on_open` is `stop`",
        "bad1\nbad2\n",
    );
    place.ends(0, &["status"]).says("breaker   open until ").says("because   the circuit breaker");
}

#[test]
fn an_empty_list_of_items_is_a_job_that_has_ended() {
    let place = place("{}", &[]);
    let ran = place.ends(0, &["run", "job.yml"]);
    ran.says("0 succeeded, of 0");
    assert!(!ran.err.contains("0 of 0"), "{ran:#?}");
}

#[test]
fn a_failing_reduce_stops_the_job_and_can_be_resumed() {
    let place = place("{}", &["a"]);
    let reduce = "reduce:\n  - shell: 'echo 1 >> reduced'\n  - shell: 'echo 2 >> reduced; [ -f repaired ]'\n";
    place.write("job.yml", &format!("{}{reduce}", place.read("job.yml")));
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says("job job-1: finished").says("job job-1/reduce-1: stopped: `step 2` failed");
    let status = place.ends(0, &["status"]);
    status.says("job       job-1\nstatus    finished at ").says("\nreduce    stopped at ");
    status.says("\nresume    retry-workflow resume job-1\n");
    place.ends(0, &["jobs"]).says("\n  reduce-1  stopped ");
    place.write("repaired", "");
    place.ends(0, &["resume"]);
    assert_eq!((place.read("log"), place.read("reduced")), ("a\n".into(), "1\n2\n2\n".into()));
    place.ends(0, &["status"]).says("\nreduce    finished at ");
}
