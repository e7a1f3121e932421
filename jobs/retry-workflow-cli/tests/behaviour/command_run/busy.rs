//! A store that another process locks for longer than the timeout. This module comes first, because
//! it takes the longest.

use rusqlite::Connection;

use super::support::{Place, until};

#[test]
fn a_store_locked_by_another_process_ends_the_job_which_can_be_resumed() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: './first.sh'\n  - shell: 'echo second >> log'\n",
    )
    .script(
        "first.sh",
        "touch begun; while [ ! -f locked ]; do sleep 0.05; done; echo first >> log",
    );
    let mut running = place.spawn(&["run", "job.yml", "--lease", "200ms", "--busy-timeout", "2s"]);
    until("it has begun", || place.path("begun").exists());
    let store = Connection::open(place.path("retry-workflow.db")).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    place.write("locked", "");
    assert!(running.line_with("is locked by another process").is_some());
    place.ends(0, &["status"]).says("job-1");
    store.execute_batch("ROLLBACK").unwrap();
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("completed work is kept; to resume: retry-workflow resume job-1");
    place.ends(0, &["resume"]).says("2 succeeded, of 2");
    assert!(place.read("log").ends_with("first\nsecond\n"));
}
