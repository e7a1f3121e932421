//! Parts that the clients of Postgres share: statements, and the server's answers.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use crate::report::Decision::{self, Conflict, Permanent, Transient, Undecided};
use crate::servers::postgres::Postgres;

/// Failures of statements. The names mislead a reader of words alone.
pub(super) const STATEMENTS: [(&str, Decision, &str); 30] = [
    ("text that is not a number", Permanent, "select 'connection refused'::int"),
    ("unique violation of a constraint rate_limit", Permanent, "insert into calls values (1)"),
    ("unknown column \"timeout\"", Permanent, "select \"timeout\" from users"),
    ("unknown table \"connection reset\"", Permanent, "select * from \"connection reset\""),
    ("check violation", Permanent, "insert into users values (503, 'connection reset')"),
    ("null in a column", Permanent, "insert into users values (504, null)"),
    ("syntax error", Permanent, "select timeout from from where temporarily unavailable"),
    ("division by zero", Permanent, "select 503 / 0"),
    ("unknown function", Permanent, "select rate_limit(429)"),
    ("invalid JSON", Permanent, r#"select '{"error": "connection reset by peer"'::json"#),
    ("permission denied", Permanent, "set role unavailable; select * from server_error"),
    ("unknown role", Permanent, "set role \"too many connections\""),
    (
        "an exception of the application",
        Permanent,
        "do $$ begin raise exception 'no such order: 503'; end $$",
    ),
    (
        "a wrong value, in German",
        Permanent,
        "do $$ begin raise exception 'Verbindung' using errcode = '22023'; end $$",
    ),
    ("numeric overflow", Permanent, "select 500::smallint * 500::smallint"),
    (
        "40001",
        Conflict,
        "do $$ begin raise exception 'could not serialize access due to concurrent update' using errcode = '40001'; end $$",
    ),
    (
        "40001, in German",
        Conflict,
        "do $$ begin raise exception 'kann Zugriff nicht serialisieren' using errcode = '40001'; end $$",
    ),
    ("55P03, nowait", Conflict, "begin; lock table held in access exclusive mode nowait"),
    ("55P03, lock_timeout", Conflict, "set lock_timeout = '5ms'; select * from held"),
    ("57014, statement_timeout", Transient, "set statement_timeout = '5ms'; select pg_sleep(5)"),
    ("57014, on user request", Permanent, "select pg_cancel_backend(pg_backend_pid())"),
    ("57P01, terminated", Transient, "select pg_terminate_backend(pg_backend_pid())"),
    (
        "57P03, in German",
        Transient,
        "do $$ begin raise exception 'Das Datenbanksystem startet' using errcode = '57P03'; end $$",
    ),
    (
        "53300",
        Transient,
        "do $$ begin raise exception 'sorry, too many clients already' using errcode = '53300'; end $$",
    ),
    (
        "53200, out of memory",
        Transient,
        "do $$ begin raise exception 'out of memory' using errcode = '53200'; end $$",
    ),
    (
        "08006, of a foreign server",
        Transient,
        "do $$ begin raise exception 'server closed the connection unexpectedly' using errcode = '08006'; end $$",
    ),
    (
        "57P02, crash of another session",
        Transient,
        "do $$ begin raise exception 'terminating connection because of crash of another server process' using errcode = '57P02'; end $$",
    ),
    (
        "58030, I/O error",
        Undecided,
        "do $$ begin raise exception 'could not read block 503' using errcode = '58030'; end $$",
    ),
    ("25006, read only", Undecided, "begin read only; insert into calls values (2)"),
    (
        "25P02, in a failed transaction",
        Undecided,
        "do $$ begin raise exception 'current transaction is aborted' using errcode = '25P02'; end $$",
    ),
];

/// Failures of connections: user, database.
pub(super) const CONNECTIONS: [(&str, Decision, &str, &str); 5] = [
    ("wrong password of user \"timeout\"", Permanent, "timeout:wrong", "postgres"),
    ("unknown database \"timeout\"", Permanent, "postgres", "timeout"),
    ("unknown role \"server_error\"", Permanent, "server_error", "postgres"),
    ("rejected by pg_hba.conf", Permanent, "refused", "postgres"),
    ("53300, of a role", Transient, "busy", "postgres"),
];

/// A connection that holds what others want.
pub(super) struct Holder {
    _client: Client,
}

impl Holder {
    /// Locks a table.
    pub(super) async fn start(server: &Postgres) -> Self {
        let client = connect(server).await;
        let sql = "begin; lock table held in access exclusive mode";
        client.batch_execute(sql).await.expect("a lock");
        Self { _client: client }
    }
}

async fn connect(server: &Postgres) -> Client {
    let url = server.url("postgres", "postgres");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Prepares a deadlock; the statement that this returns is the one that loses, because it notices
/// first.
pub(super) async fn deadlock(server: &Postgres) -> (String, JoinHandle<()>) {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let ours = LAST.fetch_add(2, Ordering::Relaxed);
    let theirs = ours + 1;
    let until = |key: u32, granted: &str| {
        format!(
            "do $$ begin while not exists (select from pg_locks where locktype = 'advisory' and \
             objid = {key} and {granted}) loop perform pg_sleep(0.001); end loop; end $$"
        )
    };
    let client = connect(server).await;
    let sql = format!("set deadlock_timeout = '60s'; select pg_advisory_lock({theirs})");
    client.batch_execute(&sql).await.expect("a lock");
    let wait = format!("{}; select pg_advisory_lock({ours})", until(ours, "granted"));
    let other = tokio::spawn(async move {
        client.batch_execute(&wait).await.expect("the other has lost");
    });
    let sql = format!(
        "set deadlock_timeout = '1ms'; begin; select pg_advisory_xact_lock({ours}); {}; \
         select pg_advisory_xact_lock({theirs})",
        until(ours, "not granted")
    );
    (sql, other)
}
