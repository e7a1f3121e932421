//! Small values, each with a revision.

use rusqlite::{OptionalExtension, Result};

use super::transaction::Transaction;
use super::transaction::tally::job_of_record;
use crate::store::StoreResult;

pub(super) fn get(tx: &Transaction<'_>, key: &str) -> Result<Option<(u64, String)>> {
    tx.prepare("SELECT revision, value FROM vals WHERE key = ?1")?
        .query_row((key,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

pub(super) fn cas(tx: &mut Transaction<'_>, key: &str, revision: u64, value: &str) -> Result<bool> {
    // A revision that is too large for the file was never issued.
    let Ok(revision) = i64::try_from(revision) else { return Ok(false) };
    let changed = if revision == 0 {
        tx.prepare("INSERT INTO vals VALUES (?1, 1, ?2) ON CONFLICT DO NOTHING")?
            .execute((key, value))?
    } else {
        tx.prepare(
            "UPDATE vals SET revision = revision + 1, value = ?3 WHERE key = ?1 AND revision = ?2",
        )?
        .execute((key, revision, value))?
    };
    if changed == 1 {
        self::changed(tx, key)?;
    }
    Ok(changed == 1)
}

pub(super) fn values(tx: &Transaction<'_>, prefix: &str) -> Result<Vec<(String, String)>> {
    // In key order, all keys with the prefix are together.
    tx.prepare("SELECT key, value FROM vals WHERE key >= ?1 ORDER BY key")?
        .query_map((prefix,), |row| Ok((row.get(0)?, row.get(1)?)))?
        .take_while(|row: &Result<(String, _)>| {
            row.as_ref().map_or(true, |(key, _)| key.starts_with(prefix))
        })
        .collect()
}

/// The outer result is the transaction's, the inner one is the result of `choose`.
pub(super) fn find_or_insert(
    tx: &mut Transaction<'_>,
    prefix: &str,
    choose: &mut impl FnMut(&[(String, String)]) -> StoreResult<(String, String)>,
) -> Result<StoreResult<(String, String)>> {
    let (key, value) = match choose(&values(tx, prefix)?) {
        Ok(chosen) => chosen,
        Err(error) => return Ok(Err(error)),
    };
    // If there is one already, it stays.
    let found = if cas(tx, &key, 0, &value)? { None } else { get(tx, &key)? };
    Ok(Ok((key, found.map_or(value, |(_, value)| value))))
}

/// The outer result is the transaction's, the inner one is the result of `change`.
pub(super) fn update(
    tx: &mut Transaction<'_>,
    keys: &[String],
    change: &mut impl FnMut(&mut [Option<String>]) -> StoreResult<()>,
) -> Result<StoreResult<()>> {
    let value = |key: &String| Ok(get(tx, key)?.map(|(_, value)| value));
    let before = keys.iter().map(value).collect::<Result<Vec<_>>>()?;
    let mut after = before.clone();
    if let Err(error) = change(&mut after) {
        return Ok(Err(error));
    }
    for ((key, before), after) in keys.iter().zip(before).zip(after) {
        let Some(value) = after.filter(|after| before.as_ref() != Some(after)) else { continue };
        tx.prepare(
            "INSERT INTO vals VALUES (?1, 1, ?2) ON CONFLICT DO UPDATE SET \
             revision = revision + 1, value = excluded.value",
        )?
        .execute((key, value))?;
        changed(tx, key)?;
    }
    Ok(Ok(()))
}

/// Notes that the value of a key has changed.
fn changed(tx: &mut Transaction<'_>, key: &str) -> Result<()> {
    tx.touch_by_key(key);
    if let Some(job) = job_of_record(key) {
        tx.job(job)?;
    }
    Ok(())
}
