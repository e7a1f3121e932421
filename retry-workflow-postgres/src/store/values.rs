//! Small values, each with a revision.

use retry_workflow::StoreError;

use parking_lot::Mutex;

use super::shared::Shared;
use crate::server::columns::{text, unsigned};
use crate::server::text::{encode, prefix_end};
use crate::server::{PooledClient, PostgresError};

pub(crate) async fn get(
    client: &PooledClient,
    shared: &Shared,
    key: &str,
) -> Result<Option<(u64, String)>, PostgresError> {
    let sql = "SELECT revision, value FROM @vals WHERE key = $1";
    let row = shared.query_opt(client, sql, &[&encode(key)]).await?;
    row.map(|row| Ok((unsigned(&row, 0)?, text(&row, 1)?))).transpose()
}

/// `maybe_done`: an earlier attempt was cut off. It succeeded if the value and its revision are
/// what it would have written.
pub(crate) async fn cas(
    client: &PooledClient,
    shared: &Shared,
    key: &str,
    revision: u64,
    value: &str,
    maybe_done: bool,
) -> Result<bool, PostgresError> {
    // A revision that is too large was never issued.
    let Ok(revision) = i64::try_from(revision) else { return Ok(false) };
    let (kept_key, kept_value) = (encode(key), encode(value));
    let changed = if revision == 0 {
        // A job exists as soon as its record does; one with neither a record nor items is not
        // listed.
        if let Some(job) = key.strip_prefix("job/") {
            shared.add_job(client, job).await?;
        }
        let sql = "INSERT INTO @vals (key, revision, value) VALUES ($1, 1, $2) \
                   ON CONFLICT DO NOTHING";
        shared.execute(client, sql, &[&kept_key, &kept_value]).await?
    } else {
        let sql = "UPDATE @vals SET revision = revision + 1, value = $3 \
                   WHERE key = $1 AND revision = $2";
        shared.execute(client, sql, &[&kept_key, &revision, &kept_value]).await?
    };
    if changed == 1 || !maybe_done {
        return Ok(changed == 1);
    }
    let found = get(client, shared, key).await?;
    Ok(found.is_some_and(|(now, found)| now == revision.unsigned_abs() + 1 && found == value))
}

pub(crate) async fn values(
    client: &PooledClient,
    shared: &Shared,
    prefix: &str,
) -> Result<Vec<(String, String)>, PostgresError> {
    let prefix = encode(prefix);
    let rows = match prefix_end(&prefix) {
        Some(end) => {
            let sql = "SELECT key, value FROM @vals WHERE key >= $1 AND key < $2 ORDER BY key";
            shared.query(client, sql, &[&prefix, &end]).await?
        }
        None => {
            let sql = "SELECT key, value FROM @vals WHERE key >= $1 ORDER BY key";
            shared.query(client, sql, &[&prefix]).await?
        }
    };
    rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?))).collect()
}

/// Returns what was found or added, and whether it was added. Writers of values wait until this is
/// done.
pub(crate) async fn find_or_insert<F>(
    client: &PooledClient,
    shared: &Shared,
    prefix: &str,
    choose: &Mutex<F>,
) -> Result<((String, String), bool), PostgresError>
where
    F: FnMut(&[(String, String)]) -> Result<(String, String), StoreError>,
{
    let begin = shared.sql("BEGIN; LOCK TABLE @vals IN SHARE ROW EXCLUSIVE MODE");
    client.batch_execute(&begin).await?;
    let chosen = async {
        let known = values(client, shared, prefix).await?;
        let chosen = {
            let mut choose = choose.lock();
            choose(&known)
        };
        let (key, value) = chosen?;
        // If there is one already, it stays.
        let is_new = cas(client, shared, &key, 0, &value, false).await?;
        let found = if is_new { None } else { get(client, shared, &key).await? };
        Ok::<_, PostgresError>(((key, found.map_or(value, |(_, value)| value)), is_new))
    }
    .await;
    match chosen {
        Ok(chosen) => {
            client.batch_execute("COMMIT").await?;
            Ok(chosen)
        }
        Err(error) => {
            if error.leaves_connection() {
                client.batch_execute("ROLLBACK").await?;
            }
            Err(error)
        }
    }
}
