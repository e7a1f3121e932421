//! `jobs` and `status`, with the real command, of jobs that the library has run.

use retry_workflow::{ErrorPolicy, Policy, SqliteStore, Workflow};
use tempfile::TempDir;

use crate::command::{no_third, orders, run, told};

/// A store with a finished job of three items, and a job that stopped.
fn orders_and_mails() -> TempDir {
    let folder = orders();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(folder.path().join("retry-workflow.db")).unwrap();
        let policy = ErrorPolicy::new().continue_on_failure(false);
        let once = Policy::new().attempts(1);
        let stops = Workflow::new("mails").retry(once).error_policy(policy).store(store);
        stops.max_parallel(1).run([3_u32, 4, 5], no_third).await.unwrap();
    });
    folder
}

#[test]
fn jobs_are_listed_oldest_first() {
    let folder = orders_and_mails();
    let jobs = told(folder.path(), &["jobs"]);
    let rows: Vec<Vec<_>> = jobs.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[0],
        ["job", "status", "started", "items", "succeeded", "dead", "skipped", "left"]
    );
    assert_eq!(rows[1][..2], ["orders-1", "finished"], "{jobs}");
    assert_eq!(rows[1][3..], ["3", "2", "1", "0", "0"], "{jobs}");
    assert_eq!(rows[2][..2], ["mails-1", "stopped"], "{jobs}");
}

#[test]
fn a_status_shows_the_result_and_the_next_command() {
    let folder = orders_and_mails();
    let orders = told(folder.path(), &["status", "orders-1"]);
    assert!(orders.starts_with("job       orders-1\nstatus    finished at "), "{orders}");
    assert!(orders.contains("\nitems     3: 2 succeeded, 1 dead letter\n"), "{orders}");
    assert!(orders.contains(" 100 %\nattempts  3; worked "), "{orders}");
    assert!(orders.ends_with("\nletters   retry-workflow dlq stats orders-1\n"), "{orders}");
    let latest = told(folder.path(), &["status"]);
    assert!(latest.starts_with("job       mails-1\nstatus    stopped at "), "{latest}");
    assert!(latest.contains("\nbecause   an item failed, and"), "{latest}");
    assert!(latest.contains("\nresume    retry-workflow resume mails-1\n"), "{latest}");
}

#[test]
fn a_job_of_a_program_that_has_not_ended_is_named_by_resume() {
    let folder = orders_and_mails();
    let resumed = run(folder.path(), &["resume"]);
    let why = String::from_utf8(resumed.stderr).unwrap();
    assert_eq!(resumed.status.code(), Some(2), "{why}");
    assert!(why.contains("mails-1 has not ended: 2 of 3 items are left; "), "{why}");
    assert!(why.contains("the job `mails-1` was not started from a workflow file"), "{why}");
    assert!(why.contains("resume it with that program, or name a file with --file"), "{why}");
    let json = run(folder.path(), &["resume", "--json"]);
    assert_eq!((json.status.code(), json.stdout.len()), (Some(2), 0));
}

#[test]
fn machines_get_counts() {
    let folder = orders_and_mails();
    let jobs = told(folder.path(), &["jobs", "--json"]);
    let objects: Vec<serde_json::Value> =
        jobs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&objects[0]["id"], &objects[0]["counts"]["dead"]), (&"orders-1".into(), &1.into()));
    let status = told(folder.path(), &["status", "mails-1", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(object["status"], "stopped");
    assert_eq!(objects[1], object);
}

#[test]
fn a_job_is_removed_without_dead_letters_or_by_force() {
    let folder = orders_and_mails();
    let output = run(folder.path(), &["jobs", "rm", "orders-1"]);
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("orders-1 has 1 dead letter: write --force"), "{why}");
    assert_eq!(told(folder.path(), &["jobs"]).lines().count(), 3, "nothing was removed");

    told(folder.path(), &["dlq", "purge", "orders-1", "--yes"]);
    assert_eq!(
        told(folder.path(), &["jobs", "rm", "orders-1"]),
        "orders-1 removed, with 3 items\n"
    );
    let output = run(folder.path(), &["jobs", "rm", "mails-1", "orders-1"]);
    assert_eq!(output.status.code(), Some(2), "one of them is not there any more");
    let forced = told(folder.path(), &["jobs", "rm", "mails-1", "--force"]);
    assert!(forced.starts_with("mails-1 removed"), "{forced}");
    assert!(told(folder.path(), &["jobs"]).starts_with("no jobs yet"));
    assert_eq!(told(folder.path(), &["items", "list"]), "no items match\n");
}

#[test]
fn old_jobs_are_pruned_and_those_with_dead_letters_only_on_request() {
    let folder = orders_and_mails();
    let prune = |more: &[&str]| told(folder.path(), &[&["jobs", "prune"], more].concat());
    assert_eq!(prune(&["--older-than", "1h", "--with-dead-letters"]), "");
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert_eq!(prune(&["--older-than", "1ms"]), "", "it has a dead letter");
    let dry = prune(&["--older-than", "1ms", "--with-dead-letters", "--dry-run"]);
    assert_eq!(dry, "orders-1\n1 job would be removed\n", "the other one was stopped");
    let done = prune(&["--older-than", "1ms", "--with-dead-letters"]);
    assert_eq!(done, "orders-1 removed, with 3 items\n");
    assert_eq!(told(folder.path(), &["jobs"]).lines().count(), 2);
}

#[test]
fn a_vacuum_frees_the_space_of_removed_jobs() {
    let folder = orders_and_mails();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(folder.path().join("retry-workflow.db")).unwrap();
        let large = Workflow::new("large").store(store);
        large
            .run((0..200).map(|_| "x".repeat(10_000)), |_, _| async { Ok::<_, String>(()) })
            .await
            .unwrap();
    });
    told(folder.path(), &["jobs", "rm", "large-1"]);
    let freed = told(folder.path(), &["vacuum", "--json"]);
    let freed: serde_json::Value = serde_json::from_str(&freed).unwrap();
    let bytes = |key: &str| freed[key].as_u64().unwrap();
    assert!(bytes("before") > 2_000_000 && bytes("after") < 200_000, "{freed}");
    let file = std::fs::metadata(folder.path().join("retry-workflow.db")).unwrap().len();
    assert_eq!(file, bytes("after"));
    assert!(told(folder.path(), &["jobs"]).contains("orders-1"));
}

#[test]
fn a_job_that_has_ended_is_watched_no_longer() {
    let folder = orders_and_mails();
    let once = told(folder.path(), &["status", "orders-1", "--watch"]);
    assert_eq!(once.matches("job       orders-1").count(), 1, "{once}");
}

/// The view of another user who may read the store, but write nothing in its folder.
#[cfg(unix)]
#[test]
fn a_read_only_user_can_query_a_store() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::process::Command;

    let folder = orders_and_mails();
    let program = folder.path().join("retry-workflow");
    // By another process: a child that this one forks meanwhile would hold the file open for
    // writing, so that it cannot be run.
    let copied =
        Command::new("cp").arg(env!("CARGO_BIN_EXE_retry-workflow")).arg(&program).status();
    assert!(copied.unwrap().success());
    let store = folder.path().join("retry-workflow.db");
    set_permissions(&store, Permissions::from_mode(0o444)).unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    for (arguments, says) in [
        (&["jobs"][..], "orders-1"),
        (&["status", "orders-1"], "3: 2 succeeded, 1 dead letter"),
        (&["items", "list"], "succeeded"),
        (&["dlq", "list"], "no customer"),
        (&["store", "check"], "the newest"),
    ] {
        // Root may write everywhere.
        let mut command = if is_root { Command::new("setpriv") } else { Command::new(&program) };
        if is_root {
            command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
            command.arg(&program);
        }
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(told.contains(says), "{arguments:?}: {output:?}");
    }
    set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
}
