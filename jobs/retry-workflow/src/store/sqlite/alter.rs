//! Changes of items that no worker makes: see [`Alteration`].

use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Result, params_from_iter};

use super::claim::write_started_as_lost;
use super::selection::{FilteredItems, Values, find_all, listed};
use super::settle::{write_failure, write_row};
use super::transaction::Transaction;
use super::transaction::columns::json;
use super::transaction::tally::count_move;
use crate::item::alteration::{Alteration, Waiting};
use crate::item::clock::{Timestamp, micros};
use crate::item::failure::Failure;
use crate::item::priority::Priorities;
use crate::item::record::{AttemptOutcome, AttemptRecord, Filter, ItemState};
use crate::store::codes::{BEGUN, LEASED, NEW, PENDING, PURGED, SKIPPED, SUSPECT, claim_rank};
use crate::store::sql::{Columns, limit};

pub(super) fn alter(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    alteration: &Alteration,
    max: usize,
    now: Timestamp,
) -> Result<u64> {
    let numbers = match alteration {
        Alteration::Redrive { .. } | Alteration::Purge | Alteration::Edit(_) => {
            match FilteredItems::resolve_failed(tx, filter)? {
                Some(selection) => selection.numbers(tx, max)?,
                None => Vec::new(),
            }
        }
        Alteration::MakeDue(_) | Alteration::Skip(_) | Alteration::Expire(_) => {
            unended(tx, filter, alteration, max, now)?
        }
    };
    match alteration {
        Alteration::Redrive { every, by, from_failed } => {
            redrive(tx, &numbers, (now, *every), by.as_deref(), *from_failed)?;
        }
        Alteration::Purge => purge(tx, &numbers)?,
        Alteration::Edit(payload) => edit(tx, &numbers, payload)?,
        Alteration::MakeDue(_) | Alteration::Expire(_) => {
            let mut update = tx.prepare("UPDATE states SET due = ?2 WHERE item = ?1")?;
            for item in &numbers {
                update.execute((item, now.as_micros()))?;
            }
        }
        Alteration::Skip(why) => skip(tx, &numbers, why, now)?,
    }
    Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
}

/// The numbers of up to `max` items for an alteration of items that have not ended. Such an item
/// has no failure, and no time at which it ended.
///
/// Items with given ids are looked up by their numbers. Others are found by the index of what can be
/// claimed, in the order of its columns: what is due already is not looked at again.
fn unended(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    alteration: &Alteration,
    max: usize,
    now: Timestamp,
) -> Result<Vec<i64>> {
    let mut numbers = Vec::new();
    let Some(job) = tx.job_of(filter)?.filter(|_| !filter.wants_ended()) else {
        return Ok(numbers);
    };
    for job in tx.one_or_all(job)? {
        tx.touch(job);
        let (sql, mut values) = unended_of(tx, job, filter, alteration, now)?;
        let ranks = match filter.ids {
            // The statement does not ask for a rank.
            Some(_) => vec![0],
            None => claim_ranks(tx.priorities(job)?, alteration),
        };
        for rank in ranks {
            values.0[1] = rank.into();
            values.0[2] = limit(max - numbers.len()).into();
            let mut found = tx.prepare(&sql)?;
            let found = found.query_map(params_from_iter(&values.0), |row| row.get(0))?;
            numbers.extend(found.collect::<Result<Vec<i64>>>()?);
        }
    }
    Ok(numbers)
}

/// The claim ranks of items for an alteration of items that have not ended.
fn claim_ranks(priorities: Priorities, alteration: &Alteration) -> Vec<i16> {
    let is_for_limit = *alteration == Alteration::MakeDue(Waiting::ForLimit);
    let queues = [BEGUN, SUSPECT].into_iter().chain((!is_for_limit).then_some(NEW));
    let of_queue = |queue| priorities.highest_first().map(move |it| claim_rank(queue, it));
    queues.flat_map(of_queue).collect()
}

/// Returns the statement that finds the numbers of such items in a job: `?2` is their claim rank,
/// and `?3` the largest number of them.
fn unended_of(
    tx: &Transaction<'_>,
    job: i64,
    filter: &Filter,
    alteration: &Alteration,
    now: Timestamp,
) -> Result<(String, Values)> {
    let later = now.as_micros().saturating_add(1);
    let mut values = Values(vec![job.into(), Value::Null, Value::Null]);
    let mut sql = "SELECT item FROM states ".to_owned();
    match &filter.ids {
        Some(ids) => {
            let ids = values.add(listed(&find_all(tx, Some(job), ids)?));
            let those = ["item IN (SELECT value FROM json_each(", &ids, "))"].concat();
            // SQLite expects an index of the job to find fewer items than the numbers do.
            sql.push_str(&["NOT INDEXED WHERE job = ?1 AND ", &those].concat());
        }
        None => sql.push_str("INDEXED BY claimable WHERE job = ?1 AND claim_rank = ?2"),
    }
    let (states, due): (&[i16], _) = match alteration {
        Alteration::Expire(_) => (&[LEASED], later),
        Alteration::MakeDue(_) => (&[PENDING], later),
        _ if filter.wants_state(ItemState::Leased) => (&[PENDING, LEASED], i64::MIN),
        _ => (&[PENDING], i64::MIN),
    };
    sql.push_str(&[" AND due >= ", &values.add(due)].concat());
    let states: Vec<_> = states.iter().map(|state| values.add(*state)).collect();
    sql.push_str(&[" AND state IN (", &states.join(", "), ")"].concat());
    if *alteration == Alteration::MakeDue(Waiting::ForLimit) {
        // They have been claimed, and have no worker.
        sql.push_str(" AND claim_rank & 3 <> 0 AND worker IS NULL");
    }
    if let Alteration::Expire(workers) = alteration {
        let workers = values.add(json(workers)?);
        let those = format!("SELECT value FROM json_each({workers})");
        let those = format!("SELECT worker FROM workers WHERE name IN ({those})");
        sql.push_str(&[" AND worker IN (", &those, ")"].concat());
    }
    sql.push_str(" LIMIT ?3");
    Ok((sql, values))
}

fn redrive(
    tx: &mut Transaction<'_>,
    numbers: &[i64],
    (now, every): (Timestamp, Duration),
    by: Option<&str>,
    from_failed: bool,
) -> Result<()> {
    let mut after = 0_i64;
    for &item in numbers {
        let due = now + Duration::from_micros(after.unsigned_abs());
        move_failed(tx, item, ItemState::Pending)?;
        // The row of the re-drive has a token of its own.
        let (job, token, run) = tx
            .prepare(
                "UPDATE states SET state = 0, due = ?2, run = min(run + 1, 4294967295), \
                 attempt = 0, lost = 0, dropped = 0, ended = NULL, \
                 checkpoint = CASE WHEN ?4 THEN checkpoint END, \
                 token = token + ?3 WHERE item = ?1 RETURNING job, token, run",
            )?
            .query_row((item, due.as_micros(), by.is_some(), from_failed), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        if let Some(user) = by {
            let row = AttemptRecord::new(user, now, AttemptOutcome::Redriven);
            let row = AttemptRecord { run, attempt: 0, ..row };
            write_row(tx, job, (item, token), 0, &row)?;
        }
        after = after.saturating_add(micros(every));
    }
    Ok(())
}

fn purge(tx: &mut Transaction<'_>, numbers: &[i64]) -> Result<()> {
    for &item in numbers {
        move_failed(tx, item, ItemState::Skipped)?;
        tx.prepare("UPDATE states SET state = ?2, checkpoint = NULL WHERE item = ?1")?
            .execute((item, PURGED))?;
        tx.prepare("UPDATE items SET payload = '' WHERE item = ?1")?.execute((item,))?;
        tx.prepare("DELETE FROM history WHERE item = ?1")?.execute((item,))?;
    }
    Ok(())
}

fn edit(tx: &mut Transaction<'_>, numbers: &[i64], payload: &str) -> Result<()> {
    let mut edit = tx.prepare("UPDATE items SET payload = ?2 WHERE item = ?1 RETURNING job")?;
    let mut restart = tx.prepare("UPDATE states SET checkpoint = NULL WHERE item = ?1")?;
    for item in numbers {
        let job = edit.query_row((item, payload), |row| row.get(0))?;
        restart.execute((item,))?;
        tx.touch(job);
    }
    Ok(())
}

fn skip(tx: &mut Transaction<'_>, numbers: &[i64], why: &Failure, now: Timestamp) -> Result<()> {
    let mut skip = tx.prepare(
        "UPDATE states SET state = ?2, due = NULL, ended = ?3, lost = 0, dropped = 0, \
         claim_rank = claim_rank & -4 WHERE item = ?1",
    )?;
    for &item in numbers {
        let (job, from) = job_and_state(tx, item)?;
        write_started_as_lost(tx, job, item, now)?;
        skip.execute((item, SKIPPED, now.as_micros()))?;
        write_failure(tx, (job, ItemState::Skipped), item, why, now)?;
        count_move(tx.counts(job)?, Some(from), ItemState::Skipped);
    }
    Ok(())
}

/// Returns the job of an item, and its state.
fn job_and_state(tx: &Transaction<'_>, item: i64) -> Result<(i64, ItemState)> {
    tx.prepare("SELECT job, state FROM states WHERE item = ?1")?.query_row((item,), |row| {
        let mut columns = Columns::new(row);
        Ok((columns.integer()?, columns.state()?))
    })
}

/// Counts a failed item as `to`, and deletes its failure.
fn move_failed(tx: &mut Transaction<'_>, item: i64, to: ItemState) -> Result<()> {
    let (job, from) = job_and_state(tx, item)?;
    tx.prepare("DELETE FROM failures WHERE item = ?1")?.execute((item,))?;
    count_move(tx.counts(job)?, Some(from), to);
    tx.touch(job);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteOptions;
    use crate::store::sqlite::file::open_in_memory;
    use crate::store::sqlite::transaction::Names;

    #[test]
    fn items_with_given_ids_are_looked_up_and_the_queue_is_not_read() {
        let connection = open_in_memory(&SqliteOptions::default()).unwrap();
        let mut names = Names::default();
        let tx = Transaction::begun(&connection, &mut names);
        let skip = Alteration::Skip(Failure::new("cancelled", "no longer needed"));
        let for_limit = Alteration::MakeDue(Waiting::ForLimit);
        let expire = Alteration::Expire(vec!["worker".into()]);
        for alteration in [skip, for_limit, expire] {
            let one = Filter::job("job").ids(["a"]);
            let (sql, values) =
                unended_of(&tx, 1, &one, &alteration, Timestamp::default()).unwrap();
            let mut plan = tx.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan = plan.query_map(params_from_iter(values.0), |row| row.get("detail")).unwrap();
            let plan: Vec<String> = plan.map(Result::unwrap).collect();
            let looked_up = "SEARCH states USING INTEGER PRIMARY KEY (rowid=?)";
            assert!(plan.iter().any(|step| step == looked_up), "{plan:?}");
        }
    }
}
