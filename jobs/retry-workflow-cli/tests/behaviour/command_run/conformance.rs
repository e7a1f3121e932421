//! The three files that show every form run unchanged.

use super::support::Place;

const COMMANDS: &str = include_str!("../../../../../tests/data/config/command-level.yml");
const GRAPH: &str = include_str!("../../../../../tests/data/config/task-graph.yml");
const ITEMS: &str = include_str!("../../../../../tests/data/config/workflow-level.yml");

/// Fails on its first call.
const SECOND_TIME: &str = "echo fetch >> log
[ -f fetched ] || { touch fetched; echo 'connection refused' >&2; exit 1; }";

#[test]
fn commands_run_one_after_another_and_a_failure_is_waited_for() {
    let mut place = Place::with(COMMANDS).script("fetch.sh", SECOND_TIME);
    for name in ["query", "index", "mail", "upload", "save-locally"] {
        place = place.script(&format!("{name}.sh"), &format!("echo {name} >> log"));
    }
    place.ends(0, &["check", "job.yml"]).says("ok (nightly-report, mode standard)");
    let ran = place.ends(0, &["run", "job.yml"]);
    ran.says("5 succeeded, of 5").says("attempts  6");
    assert_eq!(place.read("log"), "fetch\nfetch\nquery\nindex\nmail\nupload\n");
    let shown = place.object(&["dlq", "show", "nightly-report-1", "step 1"]);
    let wait = shown["history"][0]["wait"].as_f64().unwrap();
    assert!((0.7..=1.3).contains(&wait), "1s with jitter of 30 %: {wait}");
}

#[test]
fn tasks_run_after_their_dependencies() {
    let mut place = Place::with(GRAPH);
    for name in ["fetch", "render", "links", "notify"] {
        place = place.script(&format!("{name}.sh"), &format!("echo {name} >> log"));
    }
    place.ends(0, &["check", "job.yml"]).says("ok (publish-site, mode graph)");
    place.ends(0, &["run", "job.yml"]).says("4 succeeded, of 4");
    let log = place.read("log");
    let at = |name: &str| log.lines().position(|line| line == name).unwrap();
    assert!(at("fetch") < at("render") && at("render") < at("links"), "{log}");
}

#[test]
fn items_are_mapped_and_reduced() {
    let place = Place::with(ITEMS)
        .file("items.json", r#"{ "items": [{ "id": "a" }, { "id": "b" }, { "id": "c" }] }"#)
        .script("process.sh", "echo \"customer $1\"")
        .script("validate.sh", "echo \"$1 = $2\" >> log")
        .script("summarise.sh", "echo \"$1 of $(($1 + $2))\" >> summary");
    place.ends(0, &["check", "job.yml"]).says("ok (import-customers, mode mapreduce, ");
    place.ends(0, &["run", "job.yml"]).says("3 succeeded, of 3");
    assert_eq!(place.sorted("log"), ["a = customer a", "b = customer b", "c = customer c"]);
    assert_eq!(place.read("summary"), "3 of 3\n");
}

#[test]
fn items_of_the_file_that_fail_are_dead_letters_and_counted_in_the_reduce() {
    let place = Place::with(ITEMS)
        .file("items.json", r#"{ "items": [{ "id": "a" }, { "id": "b" }, { "id": "c" }] }"#)
        .script("process.sh", "[ $1 != b ] || { echo 'no such customer' >&2; exit 4; }")
        .script("validate.sh", "")
        .script("summarise.sh", "echo \"$1 $2\" >> summary");
    let ran = place.ends(3, &["run", "job.yml"]);
    ran.says("2 succeeded, 1 dead letter, of 3");
    ran.says("b: dead after 1 attempt: exit status 4: no such customer");
    ran.says("to inspect 1 dead letter: retry-workflow dlq stats import-customers-1");
    assert_eq!(place.read("summary"), "2 1\n");
    assert_eq!(place.waits("b"), [0], "it is neither network nor timeout");
}
