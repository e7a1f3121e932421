//! rusqlite and sqlx 0.8, on SQLite.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Error, OpenFlags};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};

use crate::judged;
use crate::report::Decision::{self, Conflict, Permanent};
use crate::suite::{Suite, error};

judged!(Error);

const STATEMENTS: [(&str, Decision, &str); 8] = [
    ("BUSY", Conflict, "insert into users values (2, 'two')"),
    ("unique violation", Permanent, "insert into calls values (1)"),
    ("check violation", Permanent, "insert into calls values (503)"),
    ("no such table timeout", Permanent, "select * from timeout"),
    ("no such column", Permanent, "select x.timeout from calls x"),
    ("syntax error", Permanent, "select from timeout connection reset"),
    ("no such function", Permanent, "select timeout(503)"),
    ("attach of nothing", Permanent, "attach '/nowhere/timeout' as x"),
];

fn execute(file: &Path, sql: &str) -> Result<(), Error> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.execute_batch(sql)
}

async fn execute_sqlx(file: &Path, sql: &str) -> Result<(), sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(file).busy_timeout(Duration::ZERO);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    connection.execute(sqlx::raw_sql(sql)).await.map(drop)
}

pub(super) async fn run(suite: &mut Suite) {
    let folder = tempfile::tempdir().expect("a folder");
    // A database that is written to, and one that another connection is writing to.
    let (free, held) = (folder.path().join("free"), folder.path().join("held"));
    for file in [&free, &held] {
        let schema = "create table users (id int, name text); create table calls (rate_limit int \
                      unique constraint timeout check (rate_limit < 500)); \
                      insert into calls values (1);";
        execute(file, schema).expect("a schema");
    }
    let holder = Connection::open(&held).expect("a connection");
    holder.execute_batch("begin exclusive").expect("a lock");
    let file = |decision| if decision == Conflict { &held } else { &free };

    let mut client = suite.client("rusqlite", "rusqlite", "0.32");
    for (failure, decision, sql) in STATEMENTS {
        client.case(failure, decision, async || error(execute(file(decision), sql))).await;
    }
    client
        .case("LOCKED, of a shared cache", Conflict, async || {
            let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_SHARED_CACHE;
            let open = || {
                Connection::open_with_flags("file:x?mode=memory&cache=shared", flags).expect("one")
            };
            let (one, other) = (open(), open());
            one.execute_batch(
                "create table if not exists x (y int); begin; insert into x values (1)",
            )
            .expect("a lock");
            error(other.execute_batch("insert into x values (2)"))
        })
        .await;
    client
        .case("no row", Permanent, async || {
            let connection = Connection::open(&free).expect("a connection");
            error(connection.query_row("select 1 where 0", [], |row| row.get::<_, i64>(0)))
        })
        .await;
    client
        .case("cannot open", Permanent, async || error(execute(Path::new("/nowhere/timeout"), "")))
        .await;
    client
        .case("not a database", Permanent, async || {
            let other = folder.path().join("other");
            std::fs::write(&other, "connection refused ".repeat(100)).expect("written");
            error(execute(&other, "select * from users"))
        })
        .await;
    let mut client = suite.client("sqlx 0.8, SQLite", "sqlx", "0.8");
    for (failure, decision, sql) in STATEMENTS {
        client
            .case(failure, decision, async || error(execute_sqlx(file(decision), sql).await))
            .await;
    }
    drop(holder);
}
