//! Reading items: one with its history, or many without.

use std::ops::ControlFlow;
use std::time::Duration;

use rusqlite::{OptionalExtension, Result, Row};

use super::claim;
use super::selection::Selection;
use super::transaction::Transaction;
use super::transaction::columns::{Json, counts as counted, state};
use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::{AttemptRecord, Cursor, Filter, ItemRecord, Page};
use crate::item::summary::{JobRow, Overview};
use crate::store::MAX_ROWS_SCANNED;
use crate::store::codes::{self, BEGUN, NEW, SUSPECT};

/// A page of a list ends at this size, in bytes of payloads and outputs.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;

const COLUMNS: &str = "s.item, (SELECT name FROM jobs j WHERE j.job = s.job), i.id, i.payload, \
     i.correlation, s.state, s.run, s.attempt, s.due, s.ended, s.output, f.failure, \
     s.checkpoint, s.claim_rank";

pub(super) fn overview(tx: &mut Transaction<'_>, job: &str, most_waiting: u64) -> Result<Overview> {
    let Some(job) = tx.find_job(job)? else { return Ok(Overview::default()) };
    let priorities = tx.priorities(job)?;
    let next = |queue| claim::next_due(tx, job, priorities, queue);
    let next_suspect = next(SUSPECT)?;
    let next = [next(NEW)?, next(BEGUN)?];
    Ok(Overview {
        counts: tx.committed_counts(job)?,
        waiting: if most_waiting > 0 {
            claim::waiting(tx, job, priorities, most_waiting)?
        } else {
            0
        },
        next_due: next.into_iter().flatten().chain(next_suspect).min(),
        next_suspect,
    })
}

pub(super) fn item(tx: &mut Transaction<'_>, job: &str, id: &str) -> Result<Option<ItemRecord>> {
    let Some(job) = tx.find_job(job)? else { return Ok(None) };
    let Some(number) = tx.find_item(job, id)? else { return Ok(None) };
    let found = tx.prepare(&one())?.query_row((number,), record).optional()?;
    found.map(|item| Ok(ItemRecord { history: history(tx, number)?, ..item })).transpose()
}

pub(super) fn list(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    after: Option<Cursor>,
    max: usize,
) -> Result<Page<ItemRecord>> {
    let mut page = Page { items: Vec::new(), next: None };
    let Some(selection) = Selection::resolve(tx, filter)? else { return Ok(page) };
    let mut last = after.unwrap_or(Cursor(0));
    let mut found = last;
    let (mut bytes, mut unwanted) = (0_usize, 0);
    let mut read = tx.prepare(&one())?;
    selection.look(tx, last.0, |number, is_wanted| {
        let is_full = page.items.len() >= max || bytes >= LARGEST_PAGE;
        if unwanted == MAX_ROWS_SCANNED || (is_wanted && is_full) {
            page.next = Some(if is_full { found } else { last });
            return Ok(ControlFlow::Break(()));
        }
        if is_wanted {
            found = Cursor(number);
            let item = read.query_row((number,), record)?;
            let output = item.output.as_ref().map_or(0, String::len);
            bytes = bytes.saturating_add(item.payload.len()).saturating_add(output);
            page.items.push(item);
        } else {
            unwanted += 1;
        }
        last = Cursor(number);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(page)
}

/// Selects one item by its number.
fn one() -> String {
    format!(
        "SELECT {COLUMNS} FROM states s JOIN items i ON i.item = s.item \
         LEFT JOIN failures f ON f.item = s.item WHERE s.item = ?1"
    )
}

/// Jobs older than `after`, the newest first.
pub(super) fn jobs(
    tx: &Transaction<'_>,
    after: Option<Cursor>,
    max: usize,
) -> Result<Page<JobRow>> {
    let mut page = Page { items: Vec::new(), next: None };
    let mut last = after.unwrap_or(Cursor(i64::MAX));
    // A removed job leaves its number behind.
    let mut statement = tx.prepare(
        "SELECT j.job, j.name, v.value, j.pending, j.leased, j.succeeded, j.dead, j.skipped, \
                j.attempts, j.lost, j.worked, j.waited \
         FROM jobs j LEFT JOIN vals v ON v.key = 'job/' || j.name \
         WHERE j.job < ?1 AND (v.key IS NOT NULL \
             OR j.pending + j.leased + j.succeeded + j.dead + j.skipped > 0) \
         ORDER BY j.job DESC",
    )?;
    let mut rows = statement.query((last.0,))?;
    while let Some(row) = rows.next()? {
        if page.items.len() >= max {
            page.next = Some(last);
            break;
        }
        last = Cursor(row.get(0)?);
        page.items.push(JobRow { job: row.get(1)?, record: row.get(2)?, counts: counted(row, 3)? });
    }
    Ok(page)
}

fn record(row: &Row<'_>) -> Result<ItemRecord> {
    let job: String = row.get(1)?;
    let id: String = row.get(2)?;
    let correlation: Option<String> = row.get(4)?;
    let time = |column| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<_>>(column)?.map(Timestamp::from_micros))
    };
    Ok(ItemRecord {
        payload: row.get(3)?,
        correlation: correlation.unwrap_or_else(|| format!("{job}/{id}")),
        job,
        id,
        priority: codes::priority(row.get(13)?),
        state: state(row, 5)?,
        run: row.get(6)?,
        attempt: row.get(7)?,
        due: time(8)?,
        checkpoint: row.get(12)?,
        ended: time(9)?,
        output: row.get(10)?,
        failure: failure(row, 11)?,
        history: Vec::new(),
    })
}

fn history(tx: &Transaction<'_>, item: i64) -> Result<Vec<AttemptRecord>> {
    tx.prepare(
        "SELECT h.run, h.attempt, h.started, h.duration, h.wait, w.name, h.step, h.outcome, \
                h.failure, h.output \
         FROM history h LEFT JOIN workers w ON w.worker = h.worker \
         WHERE h.item = ?1 ORDER BY h.token, h.part",
    )?
    .query_map((item,), attempt)?
    .collect()
}

fn attempt(row: &Row<'_>) -> Result<AttemptRecord> {
    let outcome = row.get(7)?;
    Ok(AttemptRecord {
        run: row.get(0)?,
        attempt: row.get(1)?,
        started: Timestamp::from_micros(row.get(2)?),
        duration: Duration::from_micros(row.get(3)?),
        wait: Duration::from_micros(row.get(4)?),
        worker: row.get(5)?,
        step: row.get(6)?,
        outcome: codes::outcome(outcome)
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(7, outcome.into()))?,
        failure: failure(row, 8)?,
        output: row.get(9)?,
    })
}

fn failure(row: &Row<'_>, column: usize) -> Result<Option<Failure>> {
    Ok(row.get::<_, Option<Json<_>>>(column)?.map(|Json(failure)| failure))
}
