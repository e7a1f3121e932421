//! Small values, each with a revision.

use rusqlite::{OptionalExtension, Result};

use super::transaction::{Transaction, unsigned};

pub(super) fn get(tx: &Transaction<'_>, key: &str) -> Result<Option<(u64, String)>> {
    tx.prepare("SELECT revision, value FROM vals WHERE key = ?1")?
        .query_row((key,), |row| Ok((unsigned(row.get(0)?), row.get(1)?)))
        .optional()
}

pub(super) fn cas(tx: &Transaction<'_>, key: &str, revision: u64, value: &str) -> Result<bool> {
    // A revision that is too large for the file was never given out by it.
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
    Ok(changed == 1)
}

pub(super) fn keys(tx: &Transaction<'_>, prefix: &str) -> Result<Vec<String>> {
    let mut keys = tx.prepare("SELECT key FROM vals WHERE key >= ?1 ORDER BY key")?;
    let mut rows = keys.query((prefix,))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        // In their order, those that begin so are together.
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            break;
        }
        found.push(key);
    }
    Ok(found)
}
