//! sqlx on Postgres, in both versions that are in use.

use super::postgres::{CONNECTIONS, STATEMENTS, deadlock};
use super::{IMPATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{Conflict, Permanent, Transient};
use crate::servers::postgres::Postgres;
use crate::suite::{Client, Suite, error};

macro_rules! version {
    ($sqlx:ident, $raw:expr) => {
        mod $sqlx {
            use ::$sqlx::postgres::{PgConnection, PgPoolOptions};
            use ::$sqlx::{Connection as _, Error, Executor as _, Row as _};

            use super::*;

            judged!(Error);

            async fn connect(url: &str) -> Result<PgConnection, Error> {
                PgConnection::connect(url).await
            }

            async fn execute(url: &str, sql: &str) -> Error {
                let mut connection = connect(url).await.expect("a connection");
                let raw = $raw;
                error(connection.execute(raw(sql)).await)
            }

            pub(super) async fn run(client: &mut Client<'_>, server: &Postgres) {
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
                let lazy = || PgPoolOptions::new().max_connections(1);
                client
                    .case("pool exhausted", Transient, async || {
                        let pool = lazy().acquire_timeout(IMPATIENT);
                        let pool = pool.connect_lazy(&url).expect("a pool");
                        // The first one may come late as well.
                        let one = loop {
                            if let Ok(one) = pool.acquire().await {
                                break one;
                            }
                        };
                        let error = error(pool.acquire().await);
                        drop(one);
                        pool.close().await;
                        error
                    })
                    .await;
                client
                    .case("pool closed", Permanent, async || {
                        let pool = lazy().connect_lazy(&url).expect("a pool");
                        pool.close().await;
                        error(pool.acquire().await)
                    })
                    .await;
                client
                    .case("no row", Permanent, async || {
                        let mut connection = connect(&url).await.expect("a connection");
                        let sql = "select * from users where name = 'timeout'";
                        error(connection.fetch_one(sql).await)
                    })
                    .await;
                client
                    .case("a column of another type", Permanent, async || {
                        let mut connection = connect(&url).await.expect("a connection");
                        let row = connection.fetch_one("select 'x' as timeout").await;
                        error(row.expect("a row").try_get::<i32, _>("timeout"))
                    })
                    .await;
                client
                    .case("unknown column of a row", Permanent, async || {
                        let mut connection = connect(&url).await.expect("a connection");
                        let row = connection.fetch_one("select 1 as one").await.expect("a row");
                        error(row.try_get::<i32, _>("connection reset"))
                    })
                    .await;
                client
                    .case("an address that is none", Permanent, async || {
                        error(connect("postgres://localhost:timeout/x").await)
                    })
                    .await;
            }
        }
    };
}

version!(sqlx, ::sqlx::raw_sql);
version!(sqlx_0_9, |sql: &str| ::sqlx_0_9::raw_sql(::sqlx_0_9::AssertSqlSafe(sql.to_owned())));

pub(super) async fn run(suite: &mut Suite, server: &Postgres) {
    sqlx::run(&mut suite.client("sqlx 0.8, Postgres", "sqlx", "0.8"), server).await;
    sqlx_0_9::run(&mut suite.client("sqlx 0.9, Postgres", "sqlx", "0.9"), server).await;
}
