//! Stores that cannot be used, at the start and while a job runs.

use rusqlite::Connection;

use super::support::Place;

const JOB: &str =
    "name: job\ncommands:\n  - shell: './first.sh'\n  - shell: 'echo second >> log'\n";

fn place(first: &str) -> Place {
    Place::with(JOB).script("first.sh", first)
}

/// Every command that opens the store fails in this way, and changes nothing in it.
#[track_caller]
fn refused(place: &Place, code: i32, says: &str) {
    let before = std::fs::read(place.path("retry-workflow.db")).unwrap();
    for arguments in
        [&["run", "job.yml"][..], &["resume"], &["status"], &["jobs"], &["dlq", "retry", "--all"]]
    {
        let ran = place.ends(code, arguments);
        assert!(ran.out.is_empty() && ran.err.starts_with("error: "), "{ran:#?}");
        ran.says(says);
    }
    assert_eq!(place.read("log"), "");
    assert!(before == std::fs::read(place.path("retry-workflow.db")).unwrap(), "it was changed");
}

#[test]
fn a_store_of_a_newer_version_is_left_as_it_is() {
    let place = place("");
    place.ends(0, &["run", "job.yml"]);
    std::fs::remove_file(place.path("log")).unwrap();
    let store = Connection::open(place.path("retry-workflow.db")).unwrap();
    store.pragma_update(None, "user_version", 999).unwrap();
    store.pragma_update(None, "journal_mode", "delete").unwrap();
    drop(store);
    refused(&place, 2, "a newer retry-workflow wrote it, so use that version. Nothing was changed");
}

#[test]
fn a_file_of_another_program_is_left_as_it_is() {
    let place = place("");
    let store = Connection::open(place.path("retry-workflow.db")).unwrap();
    store
        .execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')")
        .unwrap();
    drop(store);
    refused(&place, 2, "is not a retry-workflow store");
    place.write("retry-workflow.db", &"dear diary, ".repeat(1_000));
    refused(&place, 2, "is not a retry-workflow store");
}

#[test]
fn a_damaged_store_is_reported_and_not_overwritten() {
    let place = place("");
    place.ends(0, &["run", "job.yml"]);
    std::fs::remove_file(place.path("log")).unwrap();
    let path = place.path("retry-workflow.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // Only the first page says that this is a store; all others are noise.
    bytes[4096..].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    refused(&place, 1, "is damaged");
}

#[test]
fn a_folder_or_a_missing_path_is_refused_as_a_store() {
    let place = place("");
    place.ends(2, &["run", "job.yml", "--store", "."]).says("the store . cannot be used");
    place.ends(2, &["run", "job.yml", "--store", "no/such/folder.db"]).says("no/such/folder.db");
    assert_eq!(place.read("log"), "");
}

#[test]
fn a_store_deleted_during_a_job_ends_it_with_an_error() {
    let work = "echo $1 >> log; [ $1 != c ] || rm -f retry-workflow.db";
    let place = Place::with(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template:\n    - shell: './work.sh ${item.id}; sleep 0.1'\n",
    );
    let place = place.items(&["a", "b", "c", "d", "e", "f", "g", "h"]).script("work.sh", work);
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says("was deleted or replaced while it was open");
    assert!(!ran.err.contains("resume"), "there is nothing to resume: {ran:#?}");
    let begun = place.read("log").lines().count();
    assert!(begun < 8, "it is noticed before the next settlement: {begun}");
}

#[test]
fn a_locked_store_is_waited_for_with_a_notice() {
    let place = Place::with("name: job\ncommands:\n  - shell: 'true'\n");
    place.ends(0, &["run", "job.yml"]);
    let other = rusqlite::Connection::open(place.path("retry-workflow.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ran = place.ends(1, &["run", "job.yml", "--busy-timeout", "1s"]);
    ran.says("is locked by another process");
    // A reader does not wait for writers.
    place.ends(0, &["status", "--busy-timeout", "0s"]).says("job-1");
    let mut waiting = place.spawn(&["run", "job.yml"]);
    let told = waiting.line_with("waiting up to 1m (--busy-timeout) for the store ").unwrap();
    assert!(told.ends_with("which another process has locked"), "{told}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(waiting.ended().code, Some(0));
}

#[test]
fn a_store_may_be_named_by_address_which_hints_repeat() {
    let place = Place::with("name: job\ncommands:\n  - shell: 'false'\n");
    place.ends(1, &["run", "job.yml", "--store", "sqlite:my jobs.db"]).says("--store 'my jobs.db'");
    place.ends(0, &["status", "--store", "my jobs.db"]).says("job-1");
    let ran = place.ends(2, &["jobs", "--store", "mysql://me:secret@host/jobs"]);
    ran.says("--store: `mysql://` is not a kind of store");
    assert!(!ran.err.contains("secret"), "{ran:#?}");
}

/// The system clock may have been changed: timestamps come from the store's own clock.
#[test]
#[cfg(target_os = "linux")]
fn status_goes_by_the_clock_of_the_store() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'false'\n    retry_config: { attempts: 2, backoff: fixed, initial_delay: 5m }\n",
    );
    let mut running = place.spawn(&["run", "job.yml"]);
    assert!(running.line_with("next attempt in ").is_some());
    running.signal("INT");
    assert_eq!(running.ended().code, Some(1));
    place.ends(0, &["status"]).says("next      nothing until ");
    let store = rusqlite::Connection::open(place.path("retry-workflow.db")).unwrap();
    let day = 24 * 60 * 60 * 1_000_000_u64;
    store.execute(&format!("UPDATE clock SET time = time + {day}"), ()).unwrap();
    place.ends(0, &["status"]).says("next      an item can run now");
}
