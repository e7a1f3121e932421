//! Removing a job, item by item.

use rusqlite::{OptionalExtension, Result};

use super::transaction::Transaction;

/// The job that owns the emptied last item; its items are never read.
const NO_JOB: i64 = 0;

pub(super) fn remove(
    tx: &mut Transaction<'_>,
    job: &str,
    max: usize,
    keys: &[String],
) -> Result<u64> {
    let mut removed = 0;
    if let Some(job) = tx.find_job(job)? {
        tx.touch(job);
        // The number of the last item is not reused: a worker that wakes up late would then hold
        // the lease of another item.
        let last: Option<i64> = tx
            .prepare("SELECT max(item) FROM items")?
            .query_row((), |row| row.get(0))
            .optional()?
            .flatten();
        let numbers = tx
            .prepare("SELECT item FROM items WHERE job = ?1 LIMIT ?2")?
            .query_map((job, i64::try_from(max).unwrap_or(i64::MAX)), |row| row.get::<_, i64>(0))?
            .collect::<Result<Vec<_>>>()?;
        for &item in &numbers {
            for table in ["states", "history", "failures"] {
                tx.prepare(&format!("DELETE FROM {table} WHERE item = ?1"))?.execute((item,))?;
            }
            let forget = if last == Some(item) {
                "UPDATE items SET job = ?2, id = item, correlation = NULL, payload = '' \
                 WHERE item = ?1 AND ?2 = ?2"
            } else {
                "DELETE FROM items WHERE item = ?1 AND ?2 = ?2"
            };
            tx.prepare(forget)?.execute((item, NO_JOB))?;
        }
        removed = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
        if numbers.len() < max {
            tx.forget(job)?;
        } else {
            return Ok(removed);
        }
    }
    for key in keys {
        tx.prepare("DELETE FROM vals WHERE key = ?1")?.execute((key,))?;
        tx.touch_by_key(key);
    }
    Ok(removed)
}
