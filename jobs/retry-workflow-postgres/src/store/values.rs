//! Small values, each with a revision.

use std::collections::HashMap;

use parking_lot::Mutex;
use retry_workflow::StoreError;

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
        add_job_of(client, shared, key).await?;
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

/// A job exists as soon as its record does; one with neither a record nor items is not listed.
async fn add_job_of(
    client: &PooledClient,
    shared: &Shared,
    key: &str,
) -> Result<(), PostgresError> {
    match key.strip_prefix("job/") {
        Some(job) => shared.add_job(client, job).await,
        None => Ok(()),
    }
}

/// Adds and changes values, and returns how many were added.
const UPDATE: &str = "\
WITH changed AS (
    UPDATE @vals v SET revision = v.revision + 1, value = u.value
    FROM unnest($1::text[], $2::text[]) AS u(key, value) WHERE v.key = u.key
), added AS (
    INSERT INTO @vals (key, revision, value)
    SELECT u.key, 1, u.value FROM unnest($3::text[], $4::text[]) AS u(key, value) ORDER BY u.key
    ON CONFLICT DO NOTHING RETURNING key
)
SELECT count(*) FROM added";

/// Returns the keys whose values have changed.
pub(crate) async fn update<F>(
    client: &PooledClient,
    shared: &Shared,
    keys: &[String],
    change: &Mutex<F>,
) -> Result<Vec<String>, PostgresError>
where
    F: FnMut(&mut [Option<String>]) -> Result<(), StoreError>,
{
    loop {
        client.batch_execute("BEGIN").await?;
        match update_locked(client, shared, keys, change).await {
            Ok(Some(changed)) => {
                client.batch_execute("COMMIT").await?;
                return Ok(changed);
            }
            // Another session has added a value meanwhile: now there is a row to lock.
            Ok(None) => client.batch_execute("ROLLBACK").await?,
            Err(error) => {
                if error.leaves_connection() {
                    client.batch_execute("ROLLBACK").await?;
                }
                return Err(error);
            }
        }
    }
}

/// As [`update`], in a transaction; `None` if a value that was missing has been added by another
/// session.
async fn update_locked<F>(
    client: &PooledClient,
    shared: &Shared,
    keys: &[String],
    change: &Mutex<F>,
) -> Result<Option<Vec<String>>, PostgresError>
where
    F: FnMut(&mut [Option<String>]) -> Result<(), StoreError>,
{
    let kept: Vec<_> = keys.iter().map(|key| encode(key)).collect();
    // Rows are locked in the order of their keys, as in every statement that locks several.
    let sql = "SELECT key, value FROM @vals WHERE key = ANY ($1) ORDER BY key FOR UPDATE";
    let rows = shared.query(client, sql, &[&kept]).await?;
    let found = |row| Ok::<_, PostgresError>((text(row, 0)?, text(row, 1)?));
    let found = rows.iter().map(found).collect::<Result<HashMap<_, _>, _>>()?;
    let before: Vec<_> = keys.iter().map(|key| found.get(key).cloned()).collect();
    let mut after = before.clone();
    {
        let mut change = change.lock();
        change(&mut after)?;
    }
    let mut changed = Vec::new();
    let (mut known, mut new) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (((key, kept), before), after) in keys.iter().zip(&kept).zip(&before).zip(&after) {
        let Some(value) = after.as_ref().filter(|_| before != after) else { continue };
        let (keys, values) = if before.is_some() { &mut known } else { &mut new };
        keys.push(kept);
        values.push(encode(value));
        if before.is_none() {
            add_job_of(client, shared, key).await?;
        }
        changed.push(key.clone());
    }
    if changed.is_empty() {
        return Ok(Some(changed));
    }
    let added = shared.count(client, UPDATE, &[&known.0, &known.1, &new.0, &new.1]).await?;
    Ok((usize::try_from(added) == Ok(new.0.len())).then_some(changed))
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
