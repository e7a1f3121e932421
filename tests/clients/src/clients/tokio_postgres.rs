//! tokio-postgres.

use tokio_postgres::{Error, NoTls};

use super::REFUSED;
use super::postgres::{CONNECTIONS, STATEMENTS, deadlock};
use crate::judged;
use crate::report::Decision::{Conflict, Permanent, Transient};
use crate::servers::lines::Lines;
use crate::servers::postgres::Postgres;
use crate::suite::{Suite, error};

judged!(Error);

async fn connect(url: &str) -> Result<tokio_postgres::Client, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn execute(url: &str, sql: &str) -> Error {
    error(connect(url).await.expect("a connection").batch_execute(sql).await)
}

pub(super) async fn run(suite: &mut Suite, server: &Postgres) {
    let mut client = suite.client("tokio-postgres", "tokio-postgres", "0.7");
    let url = server.url("postgres", "postgres");
    for (failure, decision, sql) in STATEMENTS {
        client.case(failure, decision, async || execute(&url, sql).await).await;
    }
    for (failure, decision, user, database) in CONNECTIONS {
        let url = server.url(user, database);
        client.case(failure, decision, async || error(connect(&url).await)).await;
    }
    client
        .case("40P01, deadlock", Conflict, async || {
            let (sql, other) = deadlock(server).await;
            let error = execute(&url, &sql).await;
            other.await.expect("it has won");
            error
        })
        .await;
    client
        .case("refused port", Transient, async || {
            error(connect(&format!("postgres://postgres@{REFUSED}/postgres")).await)
        })
        .await;
    client
        .case("unknown host", Transient, async || {
            error(connect("postgres://postgres@nowhere.invalid/postgres").await)
        })
        .await;
    client
        .case("connection closed before", Transient, async || {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("one");
            drop(connection);
            error(client.batch_execute("select 1").await)
        })
        .await;
    // It says at once that it is ready, which comes later.
    let other = Lines::start("Z\0\0\0\u{5}I", |_| Some(String::new())).await;
    client
        .case("a server that does not keep to the protocol", Permanent, async || {
            let port = other.address.port();
            error(connect(&format!("postgres://postgres@127.0.0.1:{port}/x?sslmode=disable")).await)
        })
        .await;
    client
        .case("a column of another type", Permanent, async || {
            let client = connect(&url).await.expect("a connection");
            let row = client.query_one("select 'x' as timeout", &[]).await.expect("a row");
            error(row.try_get::<_, i32>("timeout"))
        })
        .await;
    client
        .case("two rows instead of one", Permanent, async || {
            let client = connect(&url).await.expect("a connection");
            error(client.query_one("select * from users", &[]).await)
        })
        .await;
    client
        .case("an address that is none", Permanent, async || {
            error(connect("postgres://localhost/x?connect_timeout=timeout").await)
        })
        .await;
}
