//! Settling a lease: state, history and dead letter change at once, if the lease is still held.

use rusqlite::{OptionalExtension, Result};

use super::transaction::Transaction;
use super::transaction::columns::Json;
use super::transaction::tally::count_move;
use crate::item::clock::{Timestamp, micros};
use crate::item::failure::Failure;
use crate::item::lease::{LeaseKey, SUSPECT_AFTER, Settled, Settlement, Start};
use crate::item::record::{AttemptRecord, ItemState};
use crate::store::codes::{outcome_code, state_code};

pub(super) fn settle(
    tx: &mut Transaction<'_>,
    settlements: &[Settlement],
    started: &[Start],
    now: Timestamp,
) -> Result<Vec<bool>> {
    write_starts(tx, started)?;
    settlements.iter().map(|settlement| settle_one(tx, settlement, now)).collect()
}

fn settle_one(tx: &mut Transaction<'_>, settlement: &Settlement, now: Timestamp) -> Result<bool> {
    let Settlement { lease, end, history, .. } = settlement;
    // A `SELECT` and then an `UPDATE` is a third faster than `UPDATE … RETURNING`.
    let Some(job) = job_if_held(tx, *lease)? else { return Ok(false) };
    let state = end.state();
    write_state(tx, lease.item, end, now)?;
    for (part, row) in history.iter().enumerate() {
        write_row(tx, job, (lease.item, lease.token), part, row)?;
    }
    if let Some(failure) = end.failure() {
        write_failure(tx, (job, state), lease.item, failure, now)?;
    }
    count_move(tx.counts(job)?, Some(ItemState::Leased), state);
    if state == ItemState::Pending {
        tx.touch(job);
    }
    Ok(true)
}

/// The job of an item, if this lease holds it.
fn job_if_held(tx: &Transaction<'_>, lease: LeaseKey) -> Result<Option<i64>> {
    // A token that is too large for the file was never issued.
    let Ok(token) = i64::try_from(lease.token) else { return Ok(None) };
    tx.prepare("SELECT job FROM states WHERE item = ?1 AND token = ?2 AND state = 1")?
        .query_row((lease.item, token), |row| row.get(0))
        .optional()
}

fn write_state(tx: &Transaction<'_>, item: i64, end: &Settled, now: Timestamp) -> Result<()> {
    let (state, due) = (end.state(), end.due(now).map(Timestamp::as_micros));
    if end.takes_back() {
        let (is_deferred, for_limit) = match end {
            Settled::Deferred { for_limit, .. } => (true, *for_limit),
            _ => (false, false),
        };
        // Without a worker, it waits for a limit.
        tx.prepare(
            "UPDATE states SET state = 0, due = ?2, started = NULL, \
             worker = CASE WHEN ?5 THEN NULL ELSE worker END, \
             checkpoint = CASE WHEN ?4 THEN ?6 ELSE checkpoint END, \
             claim_rank = (claim_rank & -4) + CASE WHEN lost + dropped >= ?3 THEN 1 \
             WHEN ?4 OR attempt > 1 THEN 2 ELSE 0 END, \
             attempt = max(attempt - 1, 0) WHERE item = ?1",
        )?
        .execute((item, due, SUSPECT_AFTER, is_deferred, for_limit, end.checkpoint()))?;
        return Ok(());
    }
    let ended = state.is_final().then_some(now.as_micros());
    tx.prepare(
        "UPDATE states SET state = ?2, due = ?3, ended = ?4, lost = 0, dropped = 0, \
         claim_rank = (claim_rank & -4) + CASE WHEN ?2 = 0 THEN 2 ELSE 0 END, checkpoint = ?5, output = ?6 \
         WHERE item = ?1",
    )?
    .execute((item, state_code(state), due, ended, end.checkpoint(), end.output()))?;
    Ok(())
}

/// Writes a row of history: `part` is its place among the rows of the lease.
pub(super) fn write_row(
    tx: &mut Transaction<'_>,
    job: i64,
    (item, token): (i64, u64),
    part: usize,
    row: &AttemptRecord,
) -> Result<()> {
    let worker = tx.worker(&row.worker)?;
    tx.prepare(
        "INSERT INTO history (item, token, part, run, attempt, started, duration, wait, \
         worker, outcome, step, failure, output) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute((
        item,
        token,
        part,
        row.run,
        row.attempt,
        row.started.as_micros(),
        micros(row.duration),
        micros(row.wait),
        worker,
        outcome_code(row.outcome),
        &row.step,
        row.failure.as_ref().map(Json),
        &row.output,
    ))?;
    tx.counts(job)?.add_attempt(row);
    Ok(())
}

/// Writes the failure with which an item of this job reached its state, and when.
pub(super) fn write_failure(
    tx: &Transaction<'_>,
    (job, state): (i64, ItemState),
    item: i64,
    failure: &Failure,
    ended: Timestamp,
) -> Result<()> {
    tx.prepare(
        "INSERT OR REPLACE INTO failures (item, job, state, ended, class, signature, failure) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        item,
        job,
        state_code(state),
        ended.as_micros(),
        &failure.class,
        failure.signature.as_str(),
        Json(failure),
    ))?;
    Ok(())
}

pub(super) fn extend(
    tx: &mut Transaction<'_>,
    leases: &[LeaseKey],
    started: &[Start],
    until: Timestamp,
) -> Result<Vec<bool>> {
    write_starts(tx, started)?;
    let mut extend = tx.prepare(
        "UPDATE states SET due = max(due, ?3) WHERE item = ?1 AND token = ?2 AND state = 1",
    )?;
    let mut extend = |lease: &LeaseKey| {
        let Ok(token) = i64::try_from(lease.token) else { return Ok(false) };
        Ok(extend.execute((lease.item, token, until.as_micros()))? == 1)
    };
    leases.iter().map(&mut extend).collect()
}

fn write_starts(tx: &Transaction<'_>, started: &[Start]) -> Result<()> {
    let mut start =
        tx.prepare("UPDATE states SET started = ?3 WHERE item = ?1 AND token = ?2 AND state = 1")?;
    for Start { lease, at } in started {
        if let Ok(token) = i64::try_from(lease.token) {
            start.execute((lease.item, token, at.as_micros()))?;
        }
    }
    Ok(())
}
