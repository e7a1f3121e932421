//! Opening a schema as a store: its tables are created, or migrated to the layout of this program,
//! in numbered steps, each a transaction under a lock for which others wait. A newer layout is left
//! alone.

use std::path::PathBuf;

use retry_workflow::StoreError;
use tokio_postgres::error::SqlState;

use super::{GRANTS, STEPS, STEPS_TABLE, VERSION};
use crate::server::columns::column;
use crate::server::{PooledClient, PostgresError};

/// The advisory lock held while a store is migrated: `rtry` in ASCII.
const LOCK: i64 = 0x7274_7279;

/// Opens the store in a schema: `schema` is quoted for SQL, `plain` is not.
pub(crate) async fn open(
    client: &PooledClient,
    schema: &str,
    plain: &str,
    must_exist: bool,
    name: &str,
) -> Result<(), PostgresError> {
    let path = || PathBuf::from(format!("{name} (schema {plain})"));
    let encoding = client.query_one("SHOW server_encoding", &[]).await?;
    if column::<String>(&encoding, 0)? != "UTF8" {
        let why = "the encoding of the database is not UTF8: create one with ENCODING 'UTF8'";
        return Err(StoreError::access(path(), why).into());
    }
    let mut found = version(client, schema, plain).await?;
    if found == 0 && must_exist {
        return Err(StoreError::Missing { path: path() }.into());
    }
    while found != VERSION {
        if found > VERSION {
            let (found, known) = (found.into(), VERSION.into());
            return Err(StoreError::Newer { path: path(), found, known }.into());
        }
        found = match step(client, schema, plain).await {
            Ok(version) => version,
            Err(error) => {
                client.batch_execute("ROLLBACK").await?;
                let code = error.code();
                if code == Some(&SqlState::DUPLICATE_TABLE) {
                    return Err(StoreError::Foreign { path: path() }.into());
                }
                if code == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
                    let why = format!(
                        "its tables are missing or have an older layout, and this user may not \
                         change them ({error}): have a user who may open the store, or run the \
                         statements that `retry-workflow store sql` writes"
                    );
                    return Err(StoreError::access(path(), why).into());
                }
                return Err(error);
            }
        };
    }
    Ok(())
}

/// Returns the layout of the store; 0 if it has no tables.
async fn version(client: &PooledClient, schema: &str, plain: &str) -> Result<i32, PostgresError> {
    // Asks the catalogue itself: what another process created while this one waited for a lock
    // cannot be resolved by name yet.
    let known = client
        .query_one(
            "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1::text::name AND c.relname = 'layout')",
            &[&plain],
        )
        .await?;
    if !column::<bool>(&known, 0)? {
        return Ok(0);
    }
    let sql = format!("SELECT coalesce(max(version), 0) FROM {schema}.layout");
    column(&client.query_one(&sql, &[]).await?, 0)
}

/// Does the next step, and returns the layout after it.
async fn step(client: &PooledClient, schema: &str, plain: &str) -> Result<i32, PostgresError> {
    // No timeout, however large the tables are.
    client
        .batch_execute(&format!(
            "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({LOCK})"
        ))
        .await?;
    // Another process may have been faster.
    let found = version(client, schema, plain).await?;
    let next = STEPS.iter().find(|step| step.number > found);
    if let Some(step) = next {
        if found == 0 {
            let known = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace \
                         WHERE nspname = $1::text::name)";
            if !column::<bool>(&client.query_one(known, &[&plain]).await?, 0)? {
                client.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
            }
        }
        client.batch_execute(&statements(schema, step.number, step.sql)).await?;
        tracing::info!(schema = plain, layout = step.number, "the store has a new layout");
    }
    client.batch_execute("COMMIT").await?;
    Ok(next.map_or(found, |step| step.number))
}

/// The statements of a step, with the one that records it.
fn statements(schema: &str, number: i32, sql: &str) -> String {
    let prefix = format!("{schema}.");
    let table = if number == 1 { format!("{STEPS_TABLE};") } else { String::new() };
    format!("{table}{sql}INSERT INTO @layout (version) VALUES ({number});").replace('@', &prefix)
}

/// All steps, and the privileges of a role, for an operator to run.
pub(crate) fn script(schema: &str, role: &str) -> String {
    let mut script = format!("CREATE SCHEMA {schema};\n");
    for step in STEPS {
        script.push_str("BEGIN;\n");
        script.push_str(&statements(schema, step.number, step.sql));
        script.push_str("\nCOMMIT;\n");
    }
    let prefix = format!("{schema}.");
    script
        .push_str(&GRANTS.replace("$schema", schema).replace("$role", role).replace('@', &prefix));
    script
}
