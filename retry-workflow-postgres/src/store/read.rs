//! Reading items back: one with its history, many without.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_core::Stream as _;
use retry_workflow::{AttemptRecord, Counts, Cursor, Filter, ItemRecord, Page, Timestamp};
use tokio_postgres::Row;

use super::dead::read_json;
use super::layout;
use super::selection::Selection;
use super::shared::{Shared, column, limit, small, text, text_opt, unsigned};
use super::text::kept;
use crate::server::{Lent, PostgresError};

/// In bytes of payloads and outputs: no page of a list is much larger.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;

const COLUMNS: &str = "s.item, (SELECT name FROM @jobs j WHERE j.job = s.job), i.id, i.payload, \
     i.correlation, s.state, s.run, s.attempt, s.due, s.ended, s.output, f.failure, \
     s.checkpoint";

pub(crate) async fn counts(
    client: &Lent,
    shared: &Shared,
    job: &str,
) -> Result<Counts, PostgresError> {
    let mut counts = Counts::default();
    let Some(job) = shared.find_job(client, job).await? else { return Ok(counts) };
    let row = shared
        .query_opt(
            client,
            "SELECT sum(pending)::bigint, sum(leased)::bigint, sum(succeeded)::bigint, \
                 sum(dead)::bigint, sum(skipped)::bigint, sum(attempts)::bigint, \
                 sum(lost)::bigint, least(sum(worked), 9223372036854775807)::bigint, \
                 least(sum(waited), 9223372036854775807)::bigint \
             FROM @counts WHERE job = $1 HAVING count(*) > 0",
            &[&job],
        )
        .await?;
    let Some(row) = row else { return Ok(counts) };
    counts.pending = unsigned(&row, 0)?;
    counts.leased = unsigned(&row, 1)?;
    counts.succeeded = unsigned(&row, 2)?;
    counts.dead = unsigned(&row, 3)?;
    counts.skipped = unsigned(&row, 4)?;
    counts.attempts = unsigned(&row, 5)?;
    counts.lost = unsigned(&row, 6)?;
    counts.worked = Duration::from_micros(unsigned(&row, 7)?);
    counts.waited = Duration::from_micros(unsigned(&row, 8)?);
    Ok(counts)
}

pub(crate) async fn item(
    client: &Lent,
    shared: &Shared,
    job: &str,
    id: &str,
) -> Result<Option<ItemRecord>, PostgresError> {
    let Some(job) = shared.find_job(client, job).await? else { return Ok(None) };
    // With its history in one statement, and so of one moment.
    let sql = format!(
        "SELECT {COLUMNS}, h.run, h.attempt, h.started, h.duration, h.wait, w.name, h.step, \
             h.outcome, h.failure \
         FROM @items i JOIN @states s ON s.item = i.item LEFT JOIN @failures f ON f.item = i.item \
         LEFT JOIN @history h ON h.item = i.item LEFT JOIN @workers w ON w.worker = h.worker \
         WHERE i.job = $1 AND i.id = $2 ORDER BY h.token, h.part"
    );
    let rows = shared.query(client, &sql, &[&job, &kept(id)]).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let mut item = record(first)?;
    for row in &rows {
        item.history.extend(attempt(row, 13)?);
    }
    Ok(Some(item))
}

pub(crate) async fn list(
    client: &Lent,
    shared: &Shared,
    filter: &Filter,
    after: Option<Cursor>,
    max: usize,
) -> Result<Page<ItemRecord>, PostgresError> {
    let mut page = Page::new(Vec::new(), None);
    let Some(mut selection) = Selection::resolve(client, shared, filter).await? else {
        return Ok(page);
    };
    let mut last = after.unwrap_or(Cursor(0));
    let after = selection.add(last.0);
    let max_and_one = selection.add(limit(max.saturating_add(1)));
    let Selection { from, order, .. } = &selection;
    let sql = format!(
        "SELECT {COLUMNS} {from} AND s.item > {after}::bigint {order} LIMIT {max_and_one}::bigint"
    );
    let statement = client.prepare_cached(&shared.sql(&sql)).await?;
    let mut rows = pin!(client.query_raw(&statement, selection.values()).await?);
    let mut bytes = 0_usize;
    while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
        if page.items.len() >= max || bytes >= LARGEST_PAGE {
            page.next = Some(last);
            break;
        }
        let row = row?;
        let item = record(&row)?;
        let size = item.payload.len().saturating_add(item.output.as_ref().map_or(0, String::len));
        bytes = bytes.saturating_add(size);
        page.items.push(item);
        last = Cursor(column(&row, 0)?);
    }
    Ok(page)
}

fn record(row: &Row) -> Result<ItemRecord, PostgresError> {
    let mut item = ItemRecord::new(text(row, 1)?, text(row, 2)?, text(row, 3)?);
    if let Some(own) = text_opt(row, 4)? {
        item.correlation = own;
    }
    let code = column(row, 5)?;
    item.state = layout::state(code).ok_or_else(|| unknown("state", code))?;
    item.run = small(row, 6)?;
    item.attempt = small(row, 7)?;
    item.due = column::<Option<i64>>(row, 8)?.map(Timestamp::from_micros);
    item.ended = column::<Option<i64>>(row, 9)?.map(Timestamp::from_micros);
    item.output = text_opt(row, 10)?;
    item.checkpoint = text_opt(row, 12)?;
    item.failure = column::<Option<String>>(row, 11)?.map(|json| read_json(&json)).transpose()?;
    Ok(item)
}

/// The row of history that begins in this column, if there is one.
fn attempt(row: &Row, from: usize) -> Result<Option<AttemptRecord>, PostgresError> {
    let Some(code) = column::<Option<i16>>(row, from + 7)? else { return Ok(None) };
    let outcome = layout::outcome(code).ok_or_else(|| unknown("outcome", code))?;
    let started = Timestamp::from_micros(column(row, from + 2)?);
    let mut attempt = AttemptRecord::new(text(row, from + 5)?, started, outcome);
    attempt.run = small(row, from)?;
    attempt.attempt = small(row, from + 1)?;
    attempt.duration = Duration::from_micros(unsigned(row, from + 3)?);
    attempt.wait = Duration::from_micros(unsigned(row, from + 4)?);
    attempt.step = text_opt(row, from + 6)?;
    let failure = column::<Option<String>>(row, from + 8)?;
    attempt.failure = failure.map(|json| read_json(&json)).transpose()?;
    Ok(Some(attempt))
}

fn unknown(what: &str, code: i16) -> PostgresError {
    PostgresError::other(format!("an item has {what} {code}, which this program does not know"))
}
