//! Dead letters: re-driven, purged; and pending items: made due, skipped.

use std::time::Duration;

use rusqlite::Result;

use super::selection::FilteredItems;
use super::settle::{write_failure, write_row};
use super::transaction::Transaction;
use crate::item::clock::{Timestamp, micros};
use crate::item::failure::Failure;
use crate::item::record::{AttemptRecord, Filter, ItemState, Waiting};
use crate::store::codes::{BEGUN, DEAD, NEW, PURGED, SKIPPED, SUSPECT, claim_rank};
use crate::store::sql::Columns;
use crate::store::tally::count_move;

pub(super) fn redrive(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    max: Option<u64>,
    (now, every): (Timestamp, Duration),
    by: Option<&str>,
) -> Result<u64> {
    let max = max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    let Some(selection) = FilteredItems::resolve_failed(tx, filter)? else { return Ok(0) };
    let numbers = selection.numbers(tx, max)?;
    let mut after = 0_i64;
    let mut redriven = 0;
    for item in numbers {
        let due = now + Duration::from_micros(after.unsigned_abs());
        move_failed(tx, item, ItemState::Pending)?;
        // The row of the re-drive has a token of its own.
        let (job, token, run) = tx
            .prepare(
                "UPDATE states SET state = 0, due = ?2, run = min(run + 1, 4294967295), \
                 attempt = 0, lost = 0, dropped = 0, ended = NULL, checkpoint = NULL, \
                 token = token + ?3 WHERE item = ?1 RETURNING job, token, run",
            )?
            .query_row((item, due.as_micros(), by.is_some()), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        if let Some(user) = by {
            let row = AttemptRecord::redriven(user, run, now);
            write_row(tx, job, (item, token), 0, &row)?;
        }
        after = after.saturating_add(micros(every));
        redriven += 1;
    }
    Ok(redriven)
}

pub(super) fn purge(tx: &mut Transaction<'_>, filter: &Filter) -> Result<u64> {
    let Some(selection) = FilteredItems::resolve_failed(tx, filter)? else { return Ok(0) };
    let mut purged = 0;
    for item in selection.numbers(tx, usize::MAX)? {
        move_failed(tx, item, ItemState::Skipped)?;
        tx.prepare("UPDATE states SET state = ?2 WHERE item = ?1")?.execute((item, PURGED))?;
        tx.prepare("UPDATE items SET payload = '' WHERE item = ?1")?.execute((item,))?;
        tx.prepare("DELETE FROM history WHERE item = ?1")?.execute((item,))?;
        purged += 1;
    }
    Ok(purged)
}

/// Items that wait for a limit are those that are pending, have been claimed, and have no worker.
pub(super) fn make_due(
    tx: &mut Transaction<'_>,
    job: &str,
    which: Waiting,
    max: usize,
    now: Timestamp,
) -> Result<u64> {
    let Some(job) = tx.find_job(job)? else { return Ok(0) };
    tx.touch(job);
    // The index of what can be claimed, which also has the leased items, is in the order of these
    // places: what is due already is not looked at again.
    let mut made = 0;
    let mut update = tx.prepare(
        "UPDATE states SET due = ?3 WHERE item IN (\
             SELECT item FROM states INDEXED BY claimable \
             WHERE job = ?1 AND claim_rank = ?2 AND due > ?3 AND state = 0 \
             AND (?5 OR worker IS NULL) LIMIT ?4)",
    )?;
    let (priorities, are_all) = (tx.priorities(job)?, which == Waiting::All);
    for queue in [BEGUN, SUSPECT].into_iter().chain(are_all.then_some(NEW)) {
        for priority in priorities.highest_first() {
            let most = i64::try_from(max - made).unwrap_or(i64::MAX);
            let values = (job, claim_rank(queue, priority), now.as_micros(), most, are_all);
            made += update.execute(values)?;
        }
    }
    Ok(u64::try_from(made).unwrap_or(u64::MAX))
}

pub(super) fn skip(
    tx: &mut Transaction<'_>,
    job: &str,
    max: usize,
    why: &Failure,
    now: Timestamp,
) -> Result<u64> {
    let Some(job) = tx.find_job(job)? else { return Ok(0) };
    // Uses the index of what can be claimed, which also has the leased items.
    let numbers = tx
        .prepare(
            "SELECT item FROM states WHERE job = ?1 AND due IS NOT NULL AND state = 0 LIMIT ?2",
        )?
        .query_map((job, i64::try_from(max).unwrap_or(i64::MAX)), |row| row.get::<_, i64>(0))?
        .collect::<Result<Vec<_>>>()?;
    tx.touch(job);
    for &item in &numbers {
        tx.prepare(
            "UPDATE states SET state = ?2, due = NULL, ended = ?3, lost = 0, dropped = 0, \
             claim_rank = claim_rank & -4, checkpoint = NULL WHERE item = ?1",
        )?
        .execute((item, SKIPPED, now.as_micros()))?;
        write_failure(tx, (job, ItemState::Skipped), item, why, now)?;
        count_move(tx.counts(job)?, Some(ItemState::Pending), ItemState::Skipped);
    }
    Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
}

pub(super) fn edit(tx: &mut Transaction<'_>, job: &str, id: &str, payload: &str) -> Result<bool> {
    let Some(job) = tx.find_job(job)? else { return Ok(false) };
    let Some(item) = tx.find_item(job, id)? else { return Ok(false) };
    let changed = tx
        .prepare(
            "UPDATE items SET payload = ?2 WHERE item = ?1 AND EXISTS \
             (SELECT 1 FROM states s WHERE s.item = ?1 AND s.state IN (?3, ?4))",
        )?
        .execute((item, payload, DEAD, SKIPPED))?;
    tx.touch(job);
    Ok(changed == 1)
}

/// Counts a failed item as `to`, and deletes its failure.
fn move_failed(tx: &mut Transaction<'_>, item: i64, to: ItemState) -> Result<()> {
    let (job, from) =
        tx.prepare("SELECT job, state FROM states WHERE item = ?1")?.query_row((item,), |row| {
            let mut columns = Columns::new(row);
            Ok((columns.integer()?, columns.state()?))
        })?;
    tx.prepare("DELETE FROM failures WHERE item = ?1")?.execute((item,))?;
    count_move(tx.counts(job)?, Some(from), to);
    tx.touch(job);
    Ok(())
}
