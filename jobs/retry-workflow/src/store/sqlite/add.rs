//! Items that are new to the store: enqueued, or imported with their history.

use rusqlite::Result;

use super::claim::queue;
use super::settle::{write_failure, write_row};
use super::transaction::Transaction;
use super::transaction::tally::count_move;
use crate::item::clock::Timestamp;
use crate::item::priority::Priorities;
use crate::item::record::{ItemRecord, ItemState, NewItem};
use crate::store::codes::{NEW, PURGED, claim_rank, state_code};

const INSERT_ITEM: &str = "INSERT INTO items (job, id, correlation, payload) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
const INSERT_STATE: &str = "INSERT INTO states \
     (item, job, state, due, token, run, attempt, lost, ended, output, checkpoint, claim_rank) \
     VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, 0, ?7, ?8, ?9, ?10)";

pub(super) fn enqueue(
    tx: &mut Transaction<'_>,
    job: &str,
    items: &[NewItem],
    due: Timestamp,
) -> Result<u64> {
    if items.is_empty() {
        return Ok(0);
    }
    let job = tx.job(job)?;
    let mut insert_item = tx.prepare(INSERT_ITEM)?;
    let mut insert_state = tx.prepare(
        "INSERT INTO states (item, job, state, due, token, run, attempt, lost, claim_rank) \
         VALUES (?1, ?2, 0, ?3, 0, 0, 0, 0, ?4)",
    )?;
    let mut added = 0_u64;
    let mut priorities = Priorities::default();
    for NewItem { id, payload, correlation, priority } in items {
        if insert_item.execute((job, id, correlation, payload))? == 1 {
            let place = claim_rank(NEW, priorities.add(*priority));
            insert_state.execute((tx.last_number(), job, due.as_micros(), place))?;
            added += 1;
        }
    }
    tx.add_priorities(job, priorities)?;
    tx.touch(job);
    let counts = tx.counts(job)?;
    counts.pending = counts.pending.saturating_add(added);
    Ok(added)
}

/// Adds items that are already [in the form an import gives them](ItemRecord::imported).
pub(super) fn import(tx: &mut Transaction<'_>, items: &[ItemRecord]) -> Result<u64> {
    let mut added = 0;
    for item in items {
        let job = tx.job(&item.job)?;
        let correlation = item.own_correlation();
        let values = (job, &item.id, correlation, &item.payload);
        if tx.prepare(INSERT_ITEM)?.execute(values)? == 0 {
            continue;
        }
        tx.touch(job);
        let number = tx.last_number();
        let is_purged = item.state == ItemState::Skipped && item.payload.is_empty();
        let state = if is_purged { PURGED } else { state_code(item.state) };
        let queue = if item.state.is_final() { NEW } else { queue(0, item.attempt) };
        let time = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
        tx.prepare(INSERT_STATE)?.execute((
            number,
            job,
            state,
            time(item.due),
            item.run,
            item.attempt,
            time(item.ended),
            &item.output,
            &item.checkpoint,
            claim_rank(queue, item.priority),
        ))?;
        let mut priorities = Priorities::default();
        priorities.add(item.priority);
        tx.add_priorities(job, priorities)?;
        // No lease has token 0, so these rows come before all others.
        for (part, row) in item.history.iter().enumerate() {
            write_row(tx, job, (number, 0), part, row)?;
        }
        if let (Some(ended), Some(failure)) = (item.ended, &item.failure) {
            write_failure(tx, (job, item.state), number, failure, ended)?;
        }
        count_move(tx.counts(job)?, None, item.state);
        added += 1;
    }
    Ok(added)
}
