//! Reading items: one with its history, or many without.

use std::ops::ControlFlow;

use rusqlite::{OptionalExtension, Result, Row};

use super::claim;
use super::selection::FilteredItems;
use super::transaction::Transaction;
use crate::item::record::{AttemptRecord, Cursor, Filter, ItemRecord, Page};
use crate::item::summary::{JobRow, Overview};
use crate::store::MAX_ROWS_SCANNED;
use crate::store::codes::{BEGUN, NEW, SUSPECT};
use crate::store::sql::{self, Columns};

/// A page of a list ends at this size, in bytes of payloads, outputs and checkpoints.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;

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
    found.map(|(_, item)| Ok(ItemRecord { history: history(tx, number)?, ..item })).transpose()
}

pub(super) fn list(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    after: Option<Cursor>,
    max: usize,
) -> Result<Page<ItemRecord>> {
    let mut page = Page { items: Vec::new(), next: None };
    let Some(selection) = FilteredItems::resolve(tx, filter)? else { return Ok(page) };
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
            let item;
            (found, item) = read.query_row((number,), record)?;
            bytes = bytes.saturating_add(sql::size(&item));
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
        "SELECT {} FROM states s JOIN items i ON i.item = s.item \
         LEFT JOIN failures f ON f.item = s.item WHERE s.item = ?1",
        sql::ITEM.replace('@', "")
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
    let sql = format!(
        "SELECT j.job, j.name, v.value, {} \
         FROM jobs j LEFT JOIN vals v ON v.key = 'job/' || j.name \
         WHERE j.job < ?1 AND (v.key IS NOT NULL \
             OR j.pending + j.leased + j.succeeded + j.dead + j.skipped > 0) \
         ORDER BY j.job DESC",
        sql::each(&sql::COUNTS, |column| format!("j.{column}"))
    );
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query((last.0,))?;
    while let Some(row) = rows.next()? {
        if page.items.len() >= max {
            page.next = Some(last);
            break;
        }
        let mut columns = Columns::new(row);
        last = Cursor(columns.integer()?);
        let (job, record) = (columns.text()?, columns.text_opt()?);
        page.items.push(JobRow { job, record, counts: sql::counts(&mut columns)? });
    }
    Ok(page)
}

fn record(row: &Row<'_>) -> Result<(Cursor, ItemRecord)> {
    sql::item(&mut Columns::new(row))
}

fn history(tx: &Transaction<'_>, item: i64) -> Result<Vec<AttemptRecord>> {
    let sql = format!(
        "SELECT {} FROM history h LEFT JOIN workers w ON w.worker = h.worker \
         WHERE h.item = ?1 ORDER BY h.token, h.part",
        sql::ATTEMPT
    );
    tx.prepare(&sql)?
        .query_map((item,), |row| sql::attempt(&mut Columns::new(row)))?
        .filter_map(Result::transpose)
        .collect()
}
