//! Behind `PgBouncer`, which the tests start themselves: in session mode everything works as
//! before; in transaction mode it does if this version tracks prepared statements, and fails with a
//! clear error otherwise.

use std::fmt::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retry_tests_support::ports::Port;
use retry_workflow::{Store, Workflow, keyed};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{Place, skip, unprivileged};

/// A pooler in front of the server of these tests.
struct Pooler {
    program: Child,
    url: String,
    /// `true` if the pooler makes prepared statements available on each server connection.
    keeps_prepared: bool,
    _port: Port,
}

impl Pooler {
    /// Starts a pooler; `None` if `PgBouncer` or the server is missing.
    fn start(mode: &str) -> Option<(Self, Place)> {
        let place = Place::new()?;
        let Some(binary) = binary() else {
            skip("RETRY_TEST_REQUIRE_PGBOUNCER", "there is no pgbouncer: install it");
            return None;
        };
        let said = Command::new(&binary).arg("--version").output().expect("it runs").stdout;
        let keeps_prepared = version(&String::from_utf8_lossy(&said)) >= (1, 21);
        let folder = tempfile::tempdir().expect("a folder").keep();
        let (_, after) = place.url.split_once('@').expect("a user");
        let (server, _) = after.split_once('/').expect("a database");
        let (host, server_port) = server.rsplit_once(':').expect("a port");
        let kept = Port::find();
        let port = kept.number();
        let mut config = format!(
            "[databases]\npostgres = host={host} port={server_port} user=postgres\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\ndefault_pool_size = 10\n"
        );
        if keeps_prepared {
            let _infallible = writeln!(config, "max_prepared_statements = 200");
        }
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, config).expect("a file");
        super::fixture::give_to_server(&folder, &["pgbouncer.ini"]);
        let program = unprivileged(&binary)
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the pooler does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = std::fs::remove_dir_all(folder);
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
        Some((Self { program, url, keeps_prepared, _port: kept }, place))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The program on the path, or where Debian installs system programs.
fn binary() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_path_buf()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.is_file())
}

/// Parses the version in `PgBouncer 1.18.0`.
fn version(said: &str) -> (u32, u32) {
    let number = said.split_whitespace().nth(1).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// Runs a job of a hundred items.
async fn run(store: PostgresStore) -> Result<u64, String> {
    let items = keyed(0..100_u32, u32::to_string);
    let workflow = Workflow::new("import").store(store).max_parallel(10);
    let report = workflow.run(items, |_: u32, _| async { Ok::<_, String>(()) }).await;
    let told = |error: &dyn std::error::Error| {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(why) = cause {
            let _infallible = write!(text, ": {why}");
            cause = why.source();
        }
        text
    };
    report.map(|report| report.succeeded()).map_err(|error| told(&error))
}

#[tokio::test]
async fn a_pooler_in_session_mode_is_as_no_pooler() {
    let Some((pooler, place)) = Pooler::start("session") else { return };
    let store = place.options().connect(&pooler.url).await.expect("a store");
    assert_eq!(run(store).await, Ok(100));
}

#[tokio::test]
async fn a_pooler_in_transaction_mode_serves_a_job_or_is_refused() {
    let Some((pooler, place)) = Pooler::start("transaction") else { return };
    let store = match place.options().connect(&pooler.url).await {
        Ok(store) => store,
        Err(error) => panic!("{error:?}"),
    };
    if pooler.keeps_prepared {
        assert_eq!(run(store.clone()).await, Ok(100));
        // A wait for changes returns even if notifications do not pass through the pooler.
        let begun = Instant::now();
        assert!(store.changed("import-1", 0).await.is_ok());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    } else {
        // As long as one of the server's connections is enough, it has all statements. It is kept
        // by another client every other time.
        let mut ran = run(store.clone()).await;
        for _ in 0..20 {
            if ran.is_err() {
                break;
            }
            let (kept, connection) = tokio_postgres::connect(&pooler.url, tokio_postgres::NoTls)
                .await
                .expect("a client");
            let connection = tokio::spawn(connection);
            kept.batch_execute("BEGIN").await.expect("a transaction");
            ran = run(store.clone()).await;
            drop(kept);
            let _gone = connection.await;
        }
        let why = ran.expect_err("statements are lost");
        assert!(why.contains("PgBouncer needs version 1.21"), "{why}");
    }
}
