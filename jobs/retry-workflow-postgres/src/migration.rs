//! Opening a schema as a store or a hub: its tables are created, or migrated to the layout of this
//! program, in numbered steps, each a transaction under a lock for which others wait. A schema with
//! a newer layout, or with other tables, is left alone.

use thiserror::Error;
use tokio_postgres::error::SqlState;

use crate::server::columns::column;
use crate::server::{PooledClient, PostgresError, quoted};

/// The table that records the steps of a store.
pub(crate) const STORE: &str = "store_layout";

/// The table that records the steps of a hub.
pub(crate) const HUB: &str = "hub_layout";

/// The advisory lock held during a step, of a store or a hub: `rtry` in ASCII.
const LOCK: i64 = 0x7274_7279;

/// The tables of a store or a hub, as the steps that lead to them.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// The table that records the steps: [`STORE`] or [`HUB`]. Opening needs only `SELECT` on it.
    pub(crate) table: &'static str,
    /// Each step migrates a schema to the layout with its number, counted from 1; the first one
    /// creates the tables. `@` stands for the schema and a dot. Released steps never change: a
    /// change of the tables is one more step, which grants a new table to the roles that may write
    /// to the others.
    pub(crate) steps: &'static [&'static str],
    /// The privileges of a role that works with the tables, and does not own them.
    pub(crate) grants: &'static str,
}

/// The reason why a schema cannot be opened.
#[derive(Debug, Error)]
pub(crate) enum LayoutError {
    /// A newer program wrote the tables.
    #[error(
        "the tables in this schema have layout {found}, but this program knows layout {known}: use \
         the matching release, or another schema"
    )]
    Newer { found: i32, known: i32 },
    /// There are no tables, but they must exist.
    #[error("the schema has no tables")]
    Missing,
    /// The name of the schema is empty or too long.
    #[error(
        "the name of a schema has 1 to 63 bytes, because the server cuts a longer one: write \
         another one"
    )]
    Name,
    /// A table of this name exists already.
    #[error("the schema holds other tables: name another schema. Nothing was changed")]
    Foreign,
    /// The schema belongs to a store if a hub is opened, or to a hub if a store is.
    #[error("the schema holds the tables of {0}: name another schema. Nothing was changed")]
    Other(&'static str),
    #[error("{0}")]
    Server(PostgresError),
}

/// The server cuts longer names, in bytes.
const LONGEST_NAME: usize = 63;

impl<E: Into<PostgresError>> From<E> for LayoutError {
    fn from(error: E) -> Self {
        Self::Server(error.into())
    }
}

impl Layout {
    /// The number of the last step.
    pub(crate) fn version(&self) -> i32 {
        i32::try_from(self.steps.len()).unwrap_or(i32::MAX)
    }

    /// Opens this schema, and creates or migrates its tables if need be.
    pub(crate) async fn open(
        &self,
        client: &PooledClient,
        schema: &str,
        must_exist: bool,
    ) -> Result<(), LayoutError> {
        if !(1..=LONGEST_NAME).contains(&schema.len()) {
            return Err(LayoutError::Name);
        }
        let known = self.version();
        let mut found = self.found(client, schema).await?;
        if found == 0 && must_exist {
            return Err(LayoutError::Missing);
        }
        while found != known {
            if found > known {
                return Err(LayoutError::Newer { found, known });
            }
            found = match self.step(client, schema).await {
                Ok(found) => found,
                Err(error) => {
                    client.batch_execute("ROLLBACK").await?;
                    return Err(match error {
                        LayoutError::Server(error)
                            if error.code() == Some(&SqlState::DUPLICATE_TABLE) =>
                        {
                            LayoutError::Foreign
                        }
                        error => error,
                    });
                }
            };
        }
        Ok(())
    }

    /// Returns the number of the last step that was taken; 0 if there are no tables.
    async fn found(&self, client: &PooledClient, schema: &str) -> Result<i32, LayoutError> {
        // Asks the catalogue itself: what another process created while this one waited for a lock
        // cannot be resolved by name yet.
        let names = "SELECT c.relname::text FROM pg_catalog.pg_class c \
                     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                     WHERE n.nspname = $1::text::name AND c.relname IN \
                     ('store_layout', 'hub_layout')";
        let rows = client.query(names, &[&schema]).await?;
        let names: Vec<String> = rows.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?;
        let has = |table: &str| names.iter().any(|name| name == table);
        if has(self.table) {
            let sql =
                format!("SELECT coalesce(max(version), 0) FROM {}.{}", quoted(schema), self.table);
            return Ok(column(&client.query_one(&sql, &[]).await?, 0)?);
        }
        let others = [(STORE, "a store of jobs"), (HUB, "a hub of fleets")];
        match others.into_iter().find(|(table, _)| has(table)) {
            Some((_, holder)) => Err(LayoutError::Other(holder)),
            None => Ok(0),
        }
    }

    /// Takes the next step, and returns its number.
    async fn step(&self, client: &PooledClient, schema: &str) -> Result<i32, LayoutError> {
        // No timeout, however large the tables are.
        client
            .batch_execute(&format!(
                "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({LOCK})"
            ))
            .await?;
        // Another process may have been faster.
        let found = self.found(client, schema).await?;
        let next = (1..).zip(self.steps).find(|(number, _)| *number > found);
        if let Some((number, step)) = next {
            if found == 0 {
                let known = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace \
                             WHERE nspname = $1::text::name)";
                if !column::<bool>(&client.query_one(known, &[&schema]).await?, 0)? {
                    client.batch_execute(&format!("CREATE SCHEMA {}", quoted(schema))).await?;
                }
            }
            client.batch_execute(&self.statements(schema, number, step)).await?;
            tracing::info!(schema, table = self.table, number, "the schema has a new layout");
        }
        client.batch_execute("COMMIT").await?;
        Ok(next.map_or(found, |(number, _)| number))
    }

    /// The statements of a step, and the one that records it.
    fn statements(&self, schema: &str, number: i32, step: &str) -> String {
        let table = self.table;
        let create = match number {
            1 => format!(
                "CREATE TABLE @{table} (\
                 version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());"
            ),
            _ => String::new(),
        };
        let record = format!("INSERT INTO @{table} (version) VALUES ({number});");
        format!("{create}{step}{record}").replace('@', &format!("{}.", quoted(schema)))
    }

    /// All steps, and the privileges of a role, for an operator to run.
    pub(crate) fn script(&self, schema: &str, role: &str) -> String {
        let step = |(number, step): (i32, &&str)| {
            format!("BEGIN;\n{}\nCOMMIT;\n", self.statements(schema, number, step))
        };
        let steps: String = (1..).zip(self.steps).map(step).collect();
        let (schema, role) = (quoted(schema), quoted(role));
        let grants = format!("{}GRANT SELECT ON @{} TO $role;\n", self.grants, self.table);
        let grants = grants.replace('@', &format!("{schema}.")).replace("$role", &role);
        format!("CREATE SCHEMA {schema};\n{steps}GRANT USAGE ON SCHEMA {schema} TO {role};{grants}")
    }
}

#[cfg(feature = "fleet")]
#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::fixture::{Place, execute};
    use crate::hub::layout::LAYOUT as OF_HUB;
    use crate::server::Server;
    use crate::store::layout::LAYOUT as OF_STORE;

    /// Later programs, each with a step that exists only here.
    const LATER_STORE: Layout = Layout {
        steps: &[OF_STORE.steps[0], "ALTER TABLE @jobs ADD COLUMN owner text DEFAULT 'ada';"],
        ..OF_STORE
    };
    const LATER_HUB: Layout = Layout {
        steps: &[OF_HUB.steps[0], "ALTER TABLE @members ADD COLUMN owner text DEFAULT 'ada';"],
        ..OF_HUB
    };

    async fn open(place: &Place, layout: Layout) -> Result<(), LayoutError> {
        let server = Server::new(&place.options(), &place.url).unwrap();
        let arguments = (layout, place.schema.clone());
        let begun = AtomicBool::new(false);
        let patience = std::time::Duration::from_secs(3);
        let opened =
            server.attempts(patience, &begun, &arguments, |client, (layout, schema), _| {
                Box::pin(async move { Ok(layout.open(client, schema, false).await) })
            });
        opened.await.unwrap()
    }

    #[tokio::test]
    async fn second_step_migrates_a_schema_and_keeps_its_rows() {
        for (first, later, row) in [
            (OF_STORE, LATER_STORE, "jobs (name) VALUES ('import-1')"),
            (OF_HUB, LATER_HUB, "members VALUES ('billing', 'a', 1, 1)"),
        ] {
            let Some(place) = Place::new() else { return };
            let (place, table) = (Arc::new(place), row.split(' ').next().unwrap());
            open(&place, first).await.unwrap();
            let schema = &place.schema;
            execute(&place.url, &format!("INSERT INTO {schema}.{row}")).await;
            let migrating: Vec<_> = (0..4)
                .map(|_| {
                    let place = Arc::clone(&place);
                    tokio::spawn(async move { open(&place, later).await })
                })
                .collect();
            for migrated in migrating {
                migrated.await.unwrap().unwrap();
            }
            let kept = format!("SELECT 1 / count(*) FROM {schema}.{table} WHERE owner = 'ada'");
            execute(&place.url, &kept).await;
            // The program that knows only the first step refuses the schema.
            let error = open(&place, first).await.unwrap_err();
            assert!(matches!(error, LayoutError::Newer { found: 2, known: 1 }), "{error:?}");
        }
    }

    #[tokio::test]
    async fn failed_step_leaves_the_schema_as_it_was() {
        const FAILS: Layout = Layout {
            steps: &[OF_STORE.steps[0], "ALTER TABLE @jobs ADD COLUMN owner text; SELECT 1 / 0;"],
            ..OF_STORE
        };
        let Some(place) = Place::new() else { return };
        open(&place, OF_STORE).await.unwrap();
        let error = open(&place, FAILS).await.unwrap_err();
        assert!(error.to_string().contains("division by zero"), "{error}");
        open(&place, OF_STORE).await.unwrap();
        open(&place, LATER_STORE).await.unwrap();
    }

    #[tokio::test]
    async fn store_and_hub_opened_at_once_do_not_share_a_schema() {
        for _ in 0..5 {
            let Some(place) = Place::new() else { return };
            let (store, hub) = tokio::join!(open(&place, OF_STORE), open(&place, OF_HUB));
            let refused = match (store, hub) {
                (Ok(()), Err(error)) | (Err(error), Ok(())) => error,
                both => panic!("one of them owns the schema: {both:?}"),
            };
            assert!(matches!(refused, LayoutError::Other(_)), "{refused:?}");
        }
    }
}
