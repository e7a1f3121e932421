//! Stores on a Postgres server.
#![cfg(feature = "postgres")]

#[expect(dead_code, reason = "the tests of the store need more of it")]
#[path = "../../../../retry-workflow-postgres/tests/behaviour/fixture.rs"]
mod fixture;

use super::support::{Place, Running};
use super::upkeep::{place, run, seen};

/// The address of a new schema; `None` if there is no server.
pub(super) fn server() -> Option<String> {
    let fixture::Place { url, schema } = fixture::Place::new()?;
    Some(format!("{url}&schema={schema}"))
}

#[test]
fn a_job_runs_on_a_server_as_it_does_in_a_file() {
    let (place, Some(store)) = (place(), server()) else { return };
    let missing = place.ends(2, &["jobs", "--store", &store]);
    missing.says("there is no store at postgres://postgres@127.0.0.1");
    let ran = place.ends(1, &["run", "job.yml", "--deadline", "3s", "--store", &store]);
    ran.says("3 succeeded, 2 dead letters, 1 to do, of 6").says("resume job-1").says("&schema=");
    place.ends(0, &["status", "--store", &store]).says("job-1");
    place.ends(0, &["dlq", "stats", "--store", &store]).says("2 dead letters");
    place.ends(1, &["dlq", "retry", "--all", "--deadline", "2s", "--store", &store]);
    place.ends(0, &["store", "check", "--store", &store]).says("items   6");
    place.ends(0, &["store", "migrate", "--store", &store]).says(" has the newest layout");
    place.ends(2, &["vacuum", "--store", &store]).says("autovacuum");
    place.ends(0, &["jobs", "rm", "job-1", "--force", "--store", &store]);
}

#[test]
fn a_job_moves_to_a_server_and_back() {
    let (place, Some(store)) = (place(), server()) else { return };
    run(&place, "one.db");
    let before = seen(&place, "one.db");
    place.ends(0, &["store", "copy", "one.db", &store, "--job", "job-1"]).says("6 items copied");
    assert_eq!(seen(&place, &store), before);
    place.ends(0, &["store", "copy", &store, "two.db"]).says("6 items copied");
    assert_eq!(seen(&place, "two.db"), before);
}

#[test]
fn no_password_is_ever_shown() {
    let place = Place::with("name: job\ncommands:\n  - shell: 'true'\n");
    // Nothing listens on this port.
    let store = "postgres://ada:s3cret@127.0.0.1:1/jobs?connect_timeout=1";
    for arguments in [&["run", "job.yml"][..], &["jobs"], &["store", "check"]] {
        let ran = place.ran(&[arguments, &["--store", store]].concat());
        assert_ne!(ran.code, Some(0));
        ran.says("postgres://ada@127.0.0.1:1/jobs");
        assert!(!ran.err.contains("s3cret") && !ran.out.contains("s3cret"), "{ran:#?}");
    }
    place.ends(2, &["store", "sql", "--store", store]).says("--role NAME");
    let sql = place.ends(0, &["store", "sql", "--store", store, "--role", "worker"]).out;
    assert!(sql.contains("CREATE SCHEMA") && sql.contains("worker") && !sql.contains("s3cret"));
}

#[test]
fn a_server_that_is_read_only_for_seconds_is_waited_for_with_a_line() {
    if fixture::server().is_none() {
        return;
    }
    let Some((url, _own)) = fixture::OwnServer::start(&["fsync=off"]) else { return };
    let set_read_only = |value: &str| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let set = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
            fixture::execute(&url, &set).await;
            fixture::execute(&url, "SELECT pg_reload_conf()").await;
        });
    };
    let job = "name: job\nmode: mapreduce\nmap:\n  input: items.json\n  json_path: '$[*]'\n  \
               max_parallel: 2\n  agent_template:\n    - shell: 'until [ -e go ]; do sleep 0.05; done; : ${item.id}'\n";
    let place = Place::with(job).items(&["1", "2", "3", "4", "5", "6"]);
    let mut running: Running = place.spawn(&["run", "job.yml", "--store", &url]);
    running.line_with(" of 6 items").unwrap();
    set_read_only("on");
    place.write("go", "");
    let line = running.line_with("waiting up to 2m for the store: ").unwrap();
    set_read_only("off");
    assert!(line.contains("read-only") && line.contains("name the primary"), "{line}");
    let ran = running.ended();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.err.matches("waiting up to").count(), 0, "one line: {ran:#?}");
    ran.says("6 succeeded");
}
