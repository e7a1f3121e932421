//! `pause`, `cancel`, `--deadline` and `dlq retry --edit`: changing a job from another terminal.

use super::support::{Place, stores, until};

/// A map over six items, two at a time.
fn place(work: &str) -> Place {
    Place::with(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 2\n  agent_template:\n    - shell: './work.sh ${item.id}'\nreduce:\n  - shell: 'echo ${map.successful} >> reduced'\n",
    )
    .items(&["a", "b", "c", "d", "e", "f"])
    .script("work.sh", work)
}

const HELD: &str =
    "echo \"begin $1\" >> log; until [ -e go ]; do sleep 0.05; done; echo \"end $1\" >> log";

#[test]
fn a_job_is_paused_from_elsewhere_and_resumed() {
    let place = place(HELD);
    let mut running = place.spawn(&["run", "job.yml"]);
    until("two have begun", || place.read("log").lines().count() >= 2);
    place.ends(0, &["pause", "job-1"]).says("to resume: retry-workflow resume job-1");
    running.line_with("stopping: it was paused").unwrap();
    place.write("go", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("job job-1: stopped: it was paused");
    assert_eq!(place.sorted("log").len(), 4, "what had begun has ended");
    place.ends(0, &["pause", "job-1"]).says("no process works on job-1");
    place.ends(0, &["resume"]).says("6 succeeded, of 6");
    place.ends(2, &["pause", "job-1"]).says("job-1 has ended");
}

#[test]
fn status_shows_a_requested_pause_until_it_is_done() {
    let place = place(HELD);
    let mut running = place.spawn(&["run", "job.yml"]);
    until("two have begun", || place.read("log").lines().count() >= 2);
    place.ends(0, &["pause", "job-1"]);
    place.ends(0, &["status"]).says("requested pause at ").says("running items finish first");
    assert_eq!(place.object(&["status"])["requested"]["request"], "pause");
    running.line_with("stopping: it was paused").unwrap();
    place.write("go", "");
    running.ended().says("job job-1: stopped: it was paused");
    assert!(place.object(&["status"])["requested"].is_null());
}

#[test]
fn a_process_that_resumes_is_not_paused_by_an_earlier_request() {
    let place = place(HELD);
    let mut running = place.spawn(&["run", "job.yml"]);
    until("two have begun", || place.read("log").lines().count() >= 2);
    place.ends(0, &["pause", "job-1"]);
    let resumed = place.spawn(&["resume", "job-1"]);
    until("it works beside the first one", || place.read("log").lines().count() >= 4);
    running.line_with("stopping: it was paused").unwrap();
    place.write("go", "");
    resumed.ended().says("6 succeeded, of 6");
    running.ended();
}

#[test]
fn a_cancelled_job_skips_its_remaining_items_and_reduce() {
    let place = place(HELD);
    let mut running = place.spawn(&["run", "job.yml"]);
    until("two have begun", || place.read("log").lines().count() >= 2);
    let cancels = place.spawn(&["cancel", "job-1"]);
    running.line_with("stopping: ").unwrap();
    place.write("go", "");
    let cancelled = cancels.ended();
    cancelled.says("waiting for its running items").says("job-1 is cancelled: ");
    running.ended();
    let left = place.object(&["status"]);
    let count = |state: &str| left["counts"][state].as_u64().unwrap();
    assert_eq!((left["status"].as_str(), count("pending")), (Some("finished"), 0), "{left}");
    assert!(count("skipped") > 0 && count("skipped") + count("succeeded") == 6, "{left}");
    let skipped = place.objects(&["items", "list", "--state", "skipped"]);
    assert!(skipped.iter().all(|item| item["failure"]["class"] == "cancelled"), "{skipped:?}");
    place.ends(0, &["resume"]).says("every job in this store has ended");
    assert_eq!(place.read("reduced"), "");
    place.ends(2, &["cancel", "job-1"]).says("job-1 has ended");
    place.ends(3, &["resume", "job-1"]).says(" dlq retry job-1 --class cancelled");
}

#[test]
fn a_job_without_a_worker_is_cancelled_immediately() {
    let place = place("test $1 = a || exit 1");
    place.write(
        "job.yml",
        "name: job\ncommands:\n  - shell: ./work.sh a\n  - shell: ./work.sh b\n  - shell: ./work.sh c\n",
    );
    place.ends(1, &["run", "job.yml"]);
    place.ends(0, &["cancel", "job-1"]).says("job-1 is cancelled: 0 items skipped");
    place.ends(0, &["resume"]).says("every job in this store has ended");
}

#[test]
fn a_killed_job_is_not_running_and_cancelled_as_a_whole() {
    for store in stores() {
        let place = place("echo \"begin $1\" >> log; sleep 60").on(store);
        let running = place.spawn(&["run", "job.yml"]);
        until("two have begun", || place.read("log").lines().count() >= 2);
        running.signal("KILL");
        running.ended();
        for status in [place.object(&["status"]), place.objects(&["jobs"]).remove(0)] {
            assert_eq!(status["status"], "stopped", "{status}");
            assert!(status["reason"].as_str().unwrap().contains("is gone"), "{status}");
        }
        place.ends(0, &["cancel", "job-1"]).says("job-1 is cancelled: 6 items skipped");
        let status = place.object(&["status"]);
        let counts = &status["counts"];
        assert_eq!((&counts["skipped"], &counts["leased"]), (&6.into(), &0.into()), "{status}");
        assert_eq!(status["status"], "finished", "{status}");
        place.ends(0, &["resume"]).says("every job in this store has ended");
    }
}

#[test]
fn items_of_a_running_job_are_cancelled_and_can_be_re_driven() {
    for store in stores() {
        let work = "echo $1 >> log; until [ $1 != a ] || [ -e go ]; do sleep 0.05; done";
        let place = place(work).on(store);
        place.write("items.json", r#"["a","b","c"]"#);
        let workflow = place.read("job.yml").replace("max_parallel: 2", "max_parallel: 1");
        place.write("job.yml", &workflow.replace("${item.id}", "${item}"));
        let running = place.spawn(&["run", "job.yml"]);
        until("one has begun", || place.read("log").lines().count() == 1);
        place
            .ends(2, &["items", "cancel", "job-1", "b", "nope"])
            .says("job job-1 has no item nope: `retry-workflow");
        let done = place.object(&["items", "cancel", "job-1", "a", "c"]);
        assert_eq!(done, serde_json::json!({ "job": "job-1", "cancelled": 2 }));
        // What ran for it is killed, and its place is free.
        let ran = running.ended();
        ran.says("1 succeeded").says("2 skipped");
        ran.says("to run 2 cancelled items after all: retry-workflow");
        ran.says(" dlq retry job-1 --class cancelled");
        assert_eq!(ran.code, Some(3), "{ran:#?}");
        place.ends(3, &["resume", "job-1"]).says("to run 2 cancelled items after all");
        assert_eq!(place.read("log"), "a\nb\n");
        place.ends(0, &["items", "cancel", "job-1", "a", "b"]).says("0 items cancelled, of 2");
        let a = place.object(&["items", "show", "job-1", "a"]);
        assert_eq!(a["failure"]["class"], "cancelled", "{a}");
        assert_eq!(a["history"][0]["outcome"], "lost", "{a}");
        place.write("go", "");
        place.ends(0, &["dlq", "retry", "job-1", "--class", "cancelled"]).says("2 items re-driven");
        assert_eq!(place.sorted("log"), ["a", "a", "b", "c"]);
    }
}

#[test]
fn a_deadline_stops_a_job_which_can_be_resumed() {
    let place = place("until [ -e go ]; do sleep 0.05; done");
    let mut running = place.spawn(&["run", "job.yml", "--deadline", "200ms"]);
    running.line_with("stopping: ").unwrap();
    place.write("go", "");
    running.ended().says("job job-1: stopped: its deadline was reached");
    place.ends(0, &["resume", "--deadline", "1m"]).says("6 succeeded, of 6");
}

/// A machine that is taken away leaves no lost items, and no commands.
#[test]
fn items_that_do_not_end_in_time_after_a_signal_are_released() {
    for store in stores() {
        let work = "echo $$ >> log; until [ -e go ]; do sleep 0.05; done";
        let place = place(work).on(store);
        let running = place.spawn(&["run", "job.yml", "--stop-within", "300ms"]);
        until("two have begun", || place.read("log").lines().count() == 2);
        running.signal("TERM");
        let ran = running.ended();
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        for id in place.read("log").lines() {
            until("the command has ended", || {
                std::fs::read_to_string(format!("/proc/{id}/stat"))
                    .map_or(true, |stat| stat.contains(") Z "))
            });
        }
        assert_eq!(place.object(&["status"])["counts"]["pending"], 6);
        for id in ["a", "b"] {
            let item = place.object(&["items", "show", id]);
            assert_eq!(
                (&item["attempt"], &item["state"]),
                (&0.into(), &"pending".into()),
                "{item}"
            );
            assert!(item["history"].is_null(), "{item}");
        }
        place.write("go", "");
        place.ends(0, &["resume"]).says("6 succeeded, of 6");
        assert_eq!(place.read("log").lines().count(), 8);
    }
}

#[test]
fn a_dead_letter_is_run_again_with_another_payload() {
    let place = place("test \"$1\" != f || exit 1; echo \"$1\" >> log");
    place.ends(3, &["run", "job.yml"]);
    let failed = place.objects(&["dlq", "list"]).remove(0);
    let id = failed["id"].as_str().unwrap();
    place.write("new.json", "{ \"id\": \"repaired\" }\n");
    let edit = |file: &'static str, code: i32| {
        place.ends(code, &["dlq", "retry", "job-1", "--item", id, "--edit", file])
    };
    place.write("bad.json", "{");
    edit("bad.json", 2).says("bad.json is not JSON");
    place.ends(2, &["dlq", "retry", "job-1", "--item", "x", "--edit", "new.json"]);
    place.write("other.json", "{ \"name\": \"repaired\" }\n");
    edit("other.json", 2).says("other.json has nothing for `${item.id}`");
    place.ends(2, &["dlq", "retry", "job-1", "--item", "nope"]).says("job-1 has no item nope");
    place.ends(2, &["dlq", "retry", "--item", "nope"]).says("no job has an item nope");
    place
        .ends(2, &["dlq", "retry", "job-1", "--class", "nope"])
        .says("the class \"nope\": the classes are");
    place
        .ends(0, &["dlq", "retry", "job-1", "--class", "timeout"])
        .says("0 dead letters re-driven");
    edit("new.json", 0);
    assert!(place.sorted("log").contains(&"repaired".to_owned()));
    let shown = place.object(&["items", "show", "job-1", id]);
    assert_eq!(shown["payload"]["id"], "repaired");
}
