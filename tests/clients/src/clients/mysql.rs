//! mysql_async and sqlx 0.8, on MariaDB.

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error, Opts};
use sqlx::{Connection as _, Executor as _};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{self, Conflict, Permanent, Transient};
use crate::suite::{Suite, error};

judged!(Error);

const STATEMENTS: [(&str, Decision, &str); 14] = [
    ("unknown column 'timeout'", Permanent, "select timeout from users"),
    ("unknown table 'connection reset'", Permanent, "select * from `connection reset`"),
    ("duplicate entry", Permanent, "insert into users values (1, 'too many connections')"),
    ("null in a column", Permanent, "insert into users values (3, null)"),
    ("syntax error", Permanent, "select timeout from from temporarily unavailable"),
    ("data too long", Permanent, "insert into users values (4, repeat('503', 100))"),
    ("unknown function", Permanent, "select rate_limit(429)"),
    ("unknown database", Permanent, "use timeout"),
    (
        "an exception of the application",
        Permanent,
        "signal sqlstate '45000' set message_text = 'no such order: 503'",
    ),
    (
        "1213, deadlock",
        Conflict,
        "signal sqlstate '40001' set mysql_errno = 1213, message_text = 'Deadlock found when trying to get lock; try restarting transaction'",
    ),
    (
        "1205, lock wait",
        Conflict,
        "set innodb_lock_wait_timeout = 0; select * from held for update",
    ),
    ("1969, statement time", Transient, "set max_statement_time = 0.01; select sleep(2)"),
    (
        "1040, too many connections",
        Transient,
        "signal sqlstate '08004' set mysql_errno = 1040, message_text = 'Too many connections'",
    ),
    ("killed connection", Transient, "kill connection_id()"),
];

async fn execute(url: &str, sql: &str) -> Result<(), Error> {
    let mut connection = Conn::new(Opts::from_url(url)?).await?;
    connection.query_drop(sql).await
}

async fn execute_sqlx(url: &str, sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = sqlx::MySqlConnection::connect(url).await?;
    connection.execute(sqlx::raw_sql(sql)).await.map(drop)
}

pub(super) async fn run(suite: &mut Suite) {
    let Some(server) = crate::servers::mariadb::start().await else {
        suite.skip("MariaDB");
        return;
    };
    let root = |database: &str| format!("mysql://root@127.0.0.1:{}/{database}", server.port);
    for sql in [
        "create database clients",
        "create user timeout@'127.0.0.1' identified by 'secret'",
        "create user busy@'127.0.0.1' with max_queries_per_hour 1",
        "create table clients.users (id int primary key, name varchar(40) not null)",
        "insert into clients.users values (1, 'one')",
        "create table clients.held (id int primary key) engine = innodb",
        "insert into clients.held values (1)",
    ] {
        execute(&root(""), sql).await.expect("a schema");
    }
    let url = root("clients");
    let mut holder = Conn::new(Opts::from_url(&url).expect("an address")).await.expect("one");
    holder.query_drop("begin").await.expect("a transaction");
    holder.query_drop("select * from held for update").await.expect("a lock");
    let wrong = format!("mysql://timeout:wrong@127.0.0.1:{}/clients", server.port);
    let denied = format!("mysql://timeout:secret@127.0.0.1:{}/clients", server.port);
    let refused = format!("mysql://root@{REFUSED}/clients");
    let connections = [
        ("wrong password of user 'timeout'", Permanent, &wrong),
        ("no right to the database", Permanent, &denied),
        ("refused port", Transient, &refused),
        ("unknown host", Transient, &"mysql://root@nowhere.invalid/clients".to_owned()),
    ];

    let mut client = suite.client("mysql_async", "mysql_async", "0");
    for (failure, decision, sql) in STATEMENTS {
        client.case(failure, decision, async || error(execute(&url, sql).await)).await;
    }
    for (failure, decision, url) in connections {
        client.case(failure, decision, async || error(execute(url, "select 1").await)).await;
    }
    let mut client = suite.client("sqlx 0.8, MariaDB", "sqlx", "0.8");
    for (failure, decision, sql) in STATEMENTS {
        client.case(failure, decision, async || error(execute_sqlx(&url, sql).await)).await;
    }
    for (failure, decision, url) in connections {
        client.case(failure, decision, async || error(execute_sqlx(url, "select 1").await)).await;
    }
    drop(holder);
}
