//! Leasing items that are due, or whose lease has expired.

use rusqlite::{OptionalExtension, Result, Row};

use super::transaction::Transaction;
use super::transaction::tally::count_move;
use crate::item::clock::{Timestamp, micros};
use crate::item::lease::{Lease, SUSPECT_AFTER, Selection};
use crate::item::priority::Priorities;
use crate::item::record::{AttemptOutcome, ItemState};
use crate::store::MAX_CLAIM_BYTES;
use crate::store::codes::{BEGUN, NEW, SUSPECT, claim_rank, outcome_code};
use crate::store::sql::{self, Columns, limit};

/// An item with its last lease, and the details of that lease if it has expired.
struct Claimed {
    lease: Lease,
    /// The value of `claim_rank` with which it waited.
    place: i16,
    before: Option<Before>,
}

/// A lease that has expired unsettled.
struct Before {
    worker: i64,
    /// The time at which the item was started; `None` if it never was.
    started: Option<Timestamp>,
    ended: Timestamp,
}

pub(super) fn claim(
    tx: &mut Transaction<'_>,
    job: &str,
    worker: &str,
    now: Timestamp,
    selection: Selection,
    until: Timestamp,
) -> Result<Vec<Lease>> {
    let Some(job) = tx.find_job(job)? else { return Ok(Vec::new()) };
    let (_, _, starts) = selection.bounds();
    let due = find_due(tx, job, now, selection)?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let worker = tx.worker(worker)?;
    let mut lease_item = tx.prepare(
        "UPDATE states SET state = 1, due = ?2, token = ?3, attempt = ?4, lost = ?5, \
         dropped = ?6, claim_rank = (claim_rank & -4) + ?7, worker = ?8, started = ?9 WHERE item = ?1",
    )?;
    let mut leases = Vec::with_capacity(due.len());
    for Claimed { mut lease, before, .. } in due {
        let is_own = before.as_ref().is_some_and(|before| before.worker == worker);
        let known_start = before.as_ref().filter(|_| is_own).and_then(|before| before.started);
        let start = (leases.len() < starts).then_some(now);
        if !is_own {
            take(tx, job, &mut lease, before.as_ref())?;
        }
        lease_item.execute((
            lease.key.item,
            until.as_micros(),
            lease.key.token,
            lease.attempt,
            lease.lost,
            lease.dropped,
            // If this lease expires unsettled, that is one more.
            queue(lease.lost.saturating_add(lease.dropped).saturating_add(1), lease.attempt),
            worker,
            known_start.or(start).map(Timestamp::as_micros),
        ))?;
        leases.push(lease);
    }
    Ok(leases)
}

/// Makes the next lease of a found item, and counts the previous one as lost or as dropped.
fn take(
    tx: &mut Transaction<'_>,
    job: i64,
    lease: &mut Lease,
    before: Option<&Before>,
) -> Result<()> {
    match before {
        Some(before @ Before { started: Some(started), .. }) => {
            write_lost(tx, job, lease, before, *started)?;
            lease.lost = lease.lost.saturating_add(1);
        }
        Some(_) => lease.dropped = lease.dropped.saturating_add(1),
        None => count_move(tx.counts(job)?, Some(ItemState::Pending), ItemState::Leased),
    }
    lease.key.token += 1;
    lease.attempt = lease.attempt.saturating_add(1);
    Ok(())
}

/// Returns where an item waits that has so many losses and attempts.
pub(super) const fn queue(losses: u32, attempt: u32) -> i16 {
    match attempt {
        _ if losses >= SUSPECT_AFTER => SUSPECT,
        0 => NEW,
        _ => BEGUN,
    }
}

/// Selects the items that can be claimed now, in the order of a claim, with their last leases.
fn find_due(
    tx: &Transaction<'_>,
    job: i64,
    now: Timestamp,
    selection: Selection,
) -> Result<Vec<Claimed>> {
    // `CROSS` keeps this order of tables: by the index, whose order is the wanted one, too.
    let mut due = tx.prepare(
        "SELECT s.item, s.token, s.run, s.attempt, s.lost, s.dropped, \
             s.checkpoint, i.id, i.correlation, i.payload, s.claim_rank, s.state, \
             s.worker, s.started, s.due \
         FROM states s INDEXED BY claimable CROSS JOIN items i ON i.item = s.item \
         WHERE s.job = ?1 AND s.claim_rank = ?2 AND s.due <= ?3 \
         ORDER BY s.due, s.item LIMIT ?4 OFFSET ?5",
    )?;
    // An item due at the end of time never is.
    let now_or_before = now.as_micros().min(i64::MAX - 1);
    let priorities = tx.priorities(job)?;
    let mut bytes: usize = 0;
    let mut taken = Vec::<Claimed>::new();
    // Takes from a queue until `max` are taken in all.
    let mut take = |queue: i16, max: usize| -> Result<usize> {
        for priority in priorities.highest_first() {
            if taken.len() >= max || bytes >= MAX_CLAIM_BYTES {
                break;
            }
            let place = claim_rank(queue, priority);
            let taken_there = taken.iter().filter(|item| item.place == place).count();
            let most = limit(max - taken.len());
            let values = (job, place, now_or_before, most, limit(taken_there));
            for item in due.query_map(values, claimed)? {
                let item = item?;
                bytes = bytes.saturating_add(item.lease.payload.len());
                taken.push(item);
                if bytes >= MAX_CLAIM_BYTES {
                    break;
                }
            }
        }
        Ok(taken.len())
    };
    let (suspects, max, _) = selection.bounds();
    if suspects {
        take(SUSPECT, max)?;
        return Ok(taken);
    }
    let first = selection.begun_first(now);
    let begun = take(BEGUN, first)?;
    take(NEW, max)?;
    // If there were fewer than so many, there are no more.
    if begun == first {
        take(BEGUN, max)?;
    }
    Ok(taken)
}

fn claimed(row: &Row<'_>) -> Result<Claimed> {
    let mut columns = Columns::new(row);
    let lease = sql::lease(&mut columns)?;
    let place = columns.number()?;
    if columns.state()? != ItemState::Leased {
        return Ok(Claimed { lease, place, before: None });
    }
    let before =
        Before { worker: columns.integer()?, started: columns.time_opt()?, ended: columns.time()? };
    Ok(Claimed { lease, place, before: Some(before) })
}

/// Writes the attempt of a leased item whose lease ends now, if the lease has started one.
pub(super) fn write_started_as_lost(
    tx: &mut Transaction<'_>,
    job: i64,
    item: i64,
    now: Timestamp,
) -> Result<()> {
    let lost = tx
        .prepare(
            "INSERT INTO history \
             (item, token, part, run, attempt, started, duration, wait, worker, outcome) \
             SELECT item, token, 0, run, attempt, started, max(?2 - started, 0), 0, worker, 2 \
             FROM states WHERE item = ?1 AND state = 1 AND started IS NOT NULL",
        )?
        .execute((item, now.as_micros()))?;
    if lost > 0 {
        let counts = tx.counts(job)?;
        counts.lost = counts.lost.saturating_add(1);
    }
    Ok(())
}

/// Writes the attempt of an expired lease, which is lost.
fn write_lost(
    tx: &mut Transaction<'_>,
    job: i64,
    lease: &Lease,
    before: &Before,
    started: Timestamp,
) -> Result<()> {
    let worked = before.ended.since(started);
    tx.prepare(
        "INSERT INTO history \
         (item, token, part, run, attempt, started, duration, wait, worker, outcome) \
         VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, 0, ?7, ?8)",
    )?
    .execute((
        lease.key.item,
        lease.key.token,
        lease.run,
        lease.attempt,
        started.as_micros(),
        micros(worked),
        before.worker,
        outcome_code(AttemptOutcome::Lost),
    ))?;
    let counts = tx.counts(job)?;
    counts.lost = counts.lost.saturating_add(1);
    Ok(())
}

/// Returns when the next item of a queue can be claimed.
pub(super) fn next_due(
    tx: &Transaction<'_>,
    job: i64,
    priorities: Priorities,
    queue: i16,
) -> Result<Option<Timestamp>> {
    let mut next = tx.prepare(
        "SELECT due FROM states INDEXED BY claimable \
         WHERE job = ?1 AND claim_rank = ?2 AND due < ?3 ORDER BY due LIMIT 1",
    )?;
    let mut first: Option<i64> = None;
    for priority in priorities.highest_first() {
        let values = (job, claim_rank(queue, priority), i64::MAX);
        let due = next.query_row(values, |row| row.get(0)).optional()?;
        first = first.into_iter().chain(due).min();
    }
    Ok(first.map(Timestamp::from_micros))
}

/// Returns how many items wait to be leased for the first time, counted up to `most`.
pub(super) fn waiting(
    tx: &Transaction<'_>,
    job: i64,
    priorities: Priorities,
    most: u64,
) -> Result<u64> {
    let mut count = tx.prepare(
        "SELECT count(*) FROM (SELECT 1 FROM states INDEXED BY claimable \
         WHERE job = ?1 AND claim_rank = ?2 AND due IS NOT NULL AND state = 0 AND run = 0 \
         AND attempt = 0 LIMIT ?3)",
    )?;
    let mut waiting: u64 = 0;
    for priority in priorities.highest_first() {
        let most = i64::try_from(most - waiting).unwrap_or(i64::MAX);
        let values = (job, claim_rank(NEW, priority), most);
        waiting += count.query_row(values, |row| row.get::<_, u64>(0))?;
    }
    Ok(waiting)
}
