//! The tables of the hub. The first member creates them under a lock, for which others wait.

use tokio_postgres::error::SqlState;

use crate::server::columns::column;
use crate::server::{PooledClient, PostgresError};

/// The layout that this program reads and writes.
const VERSION: i32 = 3;

/// The advisory lock held while the tables are created: `fltr` in ASCII.
const LOCK: i64 = 0x666c_7472;

const TABLES: &str = "
CREATE TABLE @members (
    fleet text NOT NULL, member text NOT NULL, joined int8 NOT NULL, seen int8 NOT NULL,
    PRIMARY KEY (fleet, member)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE TABLE @reports (
    fleet text NOT NULL, breaker text NOT NULL, member text NOT NULL,
    open boolean NOT NULL, called int8,
    PRIMARY KEY (fleet, breaker, member)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE TABLE @breakers (
    fleet text NOT NULL, breaker text NOT NULL, epoch int8 NOT NULL,
    until int8, probe_from int8, reopenings int8, prober text, probe_until int8,
    held_until int8,
    PRIMARY KEY (fleet, breaker)
) WITH (fillfactor = 50);
CREATE TABLE @quotas (
    fleet text NOT NULL, quota text NOT NULL, tokens float8 NOT NULL,
    before int8 NOT NULL, asked int8 NOT NULL, resumed int8 NOT NULL,
    PRIMARY KEY (fleet, quota)
) WITH (fillfactor = 50);
CREATE TABLE @shares (
    fleet text NOT NULL, quota text NOT NULL, member text NOT NULL, seq int8 NOT NULL,
    capacity int8 NOT NULL, floor int8 NOT NULL,
    until int8 NOT NULL, called_back int8 NOT NULL, asked int8 NOT NULL,
    granted int8 NOT NULL DEFAULT 0, returned int8 NOT NULL DEFAULT 0,
    PRIMARY KEY (fleet, quota, member)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE VIEW @lent AS
    SELECT fleet, quota, member,
        CASE WHEN until > now THEN capacity
            WHEN called_back > now THEN least(capacity, floor)
            ELSE floor END AS tokens
    FROM @shares, (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now) AS t;
CREATE TABLE @layout (version int4 NOT NULL);
INSERT INTO @layout (version) VALUES (3);
";

/// From layout 1: what a member was given and has returned with its last request.
const FROM_1: &str = "
ALTER TABLE @shares ADD COLUMN granted int8 NOT NULL DEFAULT 0,
    ADD COLUMN returned int8 NOT NULL DEFAULT 0;
UPDATE @layout SET version = 2;
";

/// From layout 2: when the hold of a breaker's calls ends.
const FROM_2: &str = "
ALTER TABLE @breakers ADD COLUMN held_until int8;
UPDATE @layout SET version = 3;
";

const GRANTS: &str = "
GRANT USAGE ON SCHEMA $schema TO $role;
GRANT SELECT, INSERT, UPDATE, DELETE ON @members, @reports, @breakers, @quotas, @shares TO $role;
GRANT SELECT ON @layout, @lent TO $role;
";

/// Creates the tables if they are not there.
pub(super) async fn create(client: &PooledClient, schema: &str) -> Result<(), PostgresError> {
    if version(client, schema).await? == VERSION {
        return Ok(());
    }
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})");
    client.batch_execute(&begin).await?;
    let created = create_locked(client, schema).await;
    let end = if created.is_ok() { "COMMIT" } else { "ROLLBACK" };
    client.batch_execute(end).await?;
    created
}

async fn create_locked(client: &PooledClient, schema: &str) -> Result<(), PostgresError> {
    // Another process may have been faster.
    match version(client, schema).await? {
        0 => {
            let known = "SELECT to_regnamespace($1) IS NOT NULL";
            if !column::<bool>(&client.query_one(known, &[&schema]).await?, 0)? {
                client.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
            }
            client.batch_execute(&TABLES.replace('@', &format!("{schema}."))).await?;
            tracing::info!(schema, "the tables of the hub are created");
            Ok(())
        }
        old @ 1..VERSION => {
            for step in &[FROM_1, FROM_2][usize::from(old > 1)..] {
                client.batch_execute(&step.replace('@', &format!("{schema}."))).await?;
            }
            tracing::info!(schema, "the tables of the hub are migrated");
            Ok(())
        }
        VERSION => Ok(()),
        found => Err(PostgresError::other(Newer { found })),
    }
}

/// The layout of the tables; 0 if there are none.
async fn version(client: &PooledClient, schema: &str) -> Result<i32, PostgresError> {
    let table = format!("{schema}.layout");
    let known = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table]).await?;
    if !column::<bool>(&known, 0)? {
        return Ok(0);
    }
    let sql = format!("SELECT max(version) FROM {schema}.layout");
    match client.query_one(&sql, &[]).await {
        Ok(row) => column(&row, 0),
        // These are the tables of a store.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => Ok(-1),
        Err(error) => Err(error.into()),
    }
}

/// The tables belong to a newer program, or to another one.
#[derive(Debug)]
struct Newer {
    found: i32,
}

impl std::fmt::Display for Newer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the tables in this schema have layout {}, but this program knows layout {VERSION}: \
             use the matching release, or another schema",
            self.found
        )
    }
}

impl std::error::Error for Newer {}

/// Returns whether this says that the schema is not for this program.
pub(super) fn is_newer(error: &PostgresError) -> bool {
    error.is::<Newer>()
}

/// All statements, for an operator to run.
pub(super) fn script(schema: &str, role: &str) -> String {
    let all = format!("CREATE SCHEMA {schema};\nBEGIN;{TABLES}COMMIT;{GRANTS}");
    all.replace("$schema", schema).replace("$role", role).replace('@', &format!("{schema}."))
}
