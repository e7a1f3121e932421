//! Maintenance of whole stores, and jobs that move from one to another.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;

use super::support::{Place, until};

/// A map in which some items fail for good, one of them after a wait of an hour.
pub(super) fn place() -> Place {
    let job = "name: job
map:
  input: items.json
  max_parallel: 4
  agent_template:
    - shell: './work.sh ${item.id}'
      retry_config: { attempts: 2, backoff: fixed, initial_delay: 1h, retry_on: [{ pattern: busy }] }
";
    let work = "case $1 in b|c) echo \"no address for $1\" >&2; exit 1;; w) echo busy >&2; exit 1;; esac; echo done $1";
    Place::with(job).items(&["a", "b", "c", "d", "e", "w"]).script("work.sh", work)
}

/// Runs a job that stops while one item waits and others are dead letters.
pub(super) fn run(place: &Place, store: &str) {
    let running = place.spawn(&["run", "job.yml", "--store", store]);
    until("each was tried", || {
        let jobs = place.objects(&["jobs", "--store", store]);
        jobs.iter().any(|job| job["counts"]["attempts"] == 6)
    });
    running.signal("INT");
    assert_eq!(running.ended().code, Some(1));
}

/// The view of a job that people get, in each kind of store.
pub(super) fn seen(place: &Place, store: &str) -> Vec<String> {
    [
        &["status", "job-1"][..],
        &["dlq", "stats"],
        &["dlq", "show", "job-1", "b"],
        &["items", "list"],
    ]
    .into_iter()
    .flat_map(|arguments| place.objects(&[arguments, &["--store", store]].concat()))
    .map(|object| object.to_string())
    .collect()
}

#[test]
fn a_store_check_that_finds_damage_is_exit_code_1() {
    let place = place();
    place.ends(2, &["store", "check"]).says("there is no store at retry-workflow.db");
    run(&place, "jobs.db");
    let ran = place.ends(0, &["store", "check", "--store", "jobs.db"]);
    ran.says("layout  ").says(", the newest").says("items   6");
    let file = Connection::open(place.path("jobs.db")).unwrap();
    file.execute("UPDATE jobs SET dead = 7", ()).unwrap();
    let ran = place.ends(1, &["store", "check", "--store", "jobs.db"]);
    ran.says("wrong   job-1: the count says 7 dead, but there are 2");
    let check = place.object(&["store", "check", "--store", "jobs.db"]);
    let wrong = json!([{ "job": "job-1", "state": "dead", "counted": 7, "found": 2 }]);
    assert_eq!(check["disagreements"], wrong);
}

#[test]
fn a_store_of_the_newest_layout_is_not_migrated() {
    let place = place();
    run(&place, "jobs.db");
    let migrate = ["store", "migrate", "--store", "jobs.db"];
    place.ends(0, &migrate).says("jobs.db has the newest layout");
    assert!(place.object(&migrate)["store"].as_str().unwrap().ends_with("jobs.db"));
}

#[test]
fn the_statements_of_a_file_make_a_store() {
    let place = place();
    let sql = place.ends(0, &["store", "sql"]).out;
    Connection::open(place.path("made.db")).unwrap().execute_batch(&sql).unwrap();
    run(&place, "made.db");
    place.ends(0, &["store", "check", "--store", "made.db"]).says("items   6");
    place.ends(2, &["store", "sql", "--role", "worker"]).says("a file has no roles");
}

#[test]
fn a_job_is_the_same_in_the_store_to_which_it_is_copied() {
    let place = place();
    run(&place, "one.db");
    let before = seen(&place, "one.db");
    let copy = ["store", "copy", "one.db", "sqlite:two.db", "--job", "job-1"];
    place
        .ends(0, &copy)
        .says("job-1: 6 items copied")
        .says("retry-workflow --store one.db jobs rm job-1 --force");
    assert_eq!(seen(&place, "two.db"), before);
    place.ends(0, &copy).says("job-1: 0 items copied; 6 already existed");
    place.ends(0, &["jobs", "rm", "job-1", "--force", "--store", "one.db"]);
    // The job continues there.
    place.ends(
        1,
        &["dlq", "retry", "job-1", "--item", "b", "--store", "two.db", "--deadline", "1s"],
    );
    place.ends(0, &["store", "copy", "two.db", "one.db"]).says("job-1: 6 items copied");
    assert_eq!(seen(&place, "one.db"), seen(&place, "two.db"));
    place.ends(2, &["store", "copy", "one.db", "sqlite:one.db"]).says("are the same store");
    place.ends(2, &["store", "copy", "none.db", "one.db"]).says("there is no store at none.db");
    place.ends(2, &["store", "copy", "one.db", "three.db", "--job", "no-1"]).says("no-1");
    assert!(!place.path("three.db").exists());
}

#[test]
fn a_copy_that_is_killed_is_completed_by_the_same_line() {
    let place = Place::with(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 50\n  agent_template:\n    - exec: ['true']\n",
    );
    place.write("items.json", &json!((0..6_000).collect::<Vec<_>>()).to_string());
    let mut adding = place.spawn(&["run", "job.yml", "--store", "one.db"]);
    adding.line_with("job job-1").unwrap();
    until("all items are there", || {
        place.object(&["status", "--store", "one.db"])["input_complete"] == true
    });
    adding.signal("INT");
    assert_eq!(adding.ended().code, Some(1));
    let before = place.object(&["status", "--store", "one.db"]);
    let copy = ["store", "copy", "one.db", "two.db"];
    let mut kills = 0;
    for wait in [60, 120, 200] {
        let copying = place.spawn(&copy);
        std::thread::sleep(Duration::from_millis(wait));
        copying.signal("KILL");
        kills += u32::from(copying.ended().code.is_none());
    }
    assert!(kills > 0, "it was killed in the middle");
    place.ends(0, &copy).says("job-1: ");
    assert_eq!(place.object(&["status", "--store", "two.db"]), before);
    assert_eq!(
        place.objects(&["items", "list", "--limit", "9999", "--store", "two.db"]),
        place.objects(&["items", "list", "--limit", "9999", "--store", "one.db"])
    );
}
