//! Stores that cannot be used, at the beginning and while a job runs.

use rusqlite::Connection;

use super::support::Place;

const JOB: &str =
    "name: job\ncommands:\n  - shell: './first.sh'\n  - shell: 'echo second >> log'\n";

fn place(first: &str) -> Place {
    Place::with(JOB).script("first.sh", first)
}

/// Each command that opens the store fails so, and changes nothing in it.
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
    refused(&place, 2, "a newer retry-workflow wrote it; use that one. Nothing was changed");
}

#[test]
fn a_file_of_another_program_is_left_as_it_is() {
    let place = place("");
    let store = Connection::open(place.path("retry-workflow.db")).unwrap();
    store
        .execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')")
        .unwrap();
    drop(store);
    refused(&place, 2, "is no store of retry-workflow");
    place.write("retry-workflow.db", &"dear diary, ".repeat(1_000));
    refused(&place, 2, "is no store of retry-workflow");
}

#[test]
fn a_damaged_store_is_told_and_not_written_over() {
    let place = place("");
    place.ends(0, &["run", "job.yml"]);
    std::fs::remove_file(place.path("log")).unwrap();
    let path = place.path("retry-workflow.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // The first page says that it is a store; all others are noise.
    bytes[4096..].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    refused(&place, 1, "is damaged");
}

#[test]
fn a_folder_or_a_place_that_is_not_there_is_no_store() {
    let place = place("");
    place.ends(2, &["run", "job.yml", "--store", "."]).says("the store . cannot be used");
    place.ends(2, &["run", "job.yml", "--store", "no/such/folder.db"]).says("no/such/folder.db");
    assert_eq!(place.read("log"), "");
}
