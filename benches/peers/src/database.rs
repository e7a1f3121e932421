//! A database for each run, for libraries whose schema has a fixed name.

use std::process;
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgPool};

/// Runs on a separate database, which is dropped afterwards.
pub(crate) async fn with_database<T>(url: &str, run: impl AsyncFnOnce(PgPool) -> T) -> T {
    let server = PgConnectOptions::from_str(url).expect("the address of a server");
    let mut admin = server.connect().await.expect("a server");
    let name = format!("retry_bench_{}", process::id());
    let created = sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")));
    created.execute(&mut admin).await.expect("who may create databases");
    // As many connections as `graphile_worker` opens by default.
    let pool = PgPoolOptions::new().max_connections(20).connect_with(server.database(&name)).await;
    let told = run(pool.expect("a new database")).await;
    let dropped = sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)")));
    dropped.execute(&mut admin).await.expect("it is there");
    admin.close().await.expect("a server");
    told
}
