//! Reading items: one with its history, or many without.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_core::Stream as _;
use retry_workflow::store::codes;
use retry_workflow::store::{AttemptRecord, Cursor, JobRow, MAX_ROWS_SCANNED, Overview, Page};
use retry_workflow::{Counts, Filter, ItemRecord, Timestamp};
use tokio_postgres::Row;

use super::layout::LEVELS;
use super::selection::Selection;
use super::shared::{Shared, Values};
use crate::server::columns::{column, limit, read_json, small, text, text_opt, unsigned};
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError};

/// A page of a list ends at this size, in bytes of payloads and outputs.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;

const COLUMNS: &str = "s.item, (SELECT name FROM @jobs j WHERE j.job = s.job), i.id, i.payload, \
     i.correlation, s.state, s.run, s.attempt, s.due, s.ended, s.output, f.failure, \
     s.checkpoint, s.claim_rank";

/// Selects when the next waiting item can be claimed: new (0), a suspect (1), or begun (2).
const NEXT: &str = "(SELECT min(n.due) FROM levels l CROSS JOIN LATERAL (\
     SELECT s.due FROM @states s WHERE s.job = $1 AND s.claim_rank = 4 * l.priority + # \
     AND s.due IS NOT NULL AND s.due < 9223372036854775807 ORDER BY s.due, s.item LIMIT 1) n)";

pub(crate) async fn overview(
    client: &PooledClient,
    shared: &Shared,
    job: &str,
    most_waiting: u64,
) -> Result<Overview, PostgresError> {
    shared.clock.renew(client).await?;
    let Some(job) = shared.find_job(client, job).await? else { return Ok(Overview::default()) };
    let sql = format!(
        "WITH {LEVELS} SELECT {SUMS}, least({}, {}), {}, (SELECT count(*) FROM (\
             SELECT 1 FROM levels l JOIN @states s ON s.claim_rank = 4 * l.priority \
             WHERE s.job = $1 AND s.due IS NOT NULL AND s.state = 0 AND s.run = 0 \
             AND s.attempt = 0 LIMIT $2::bigint) w) \
         FROM @counts WHERE job = $1 HAVING count(*) > 0",
        NEXT.replace('#', "0"),
        NEXT.replace('#', "2"),
        NEXT.replace('#', "1"),
    );
    let most = i64::try_from(most_waiting).unwrap_or(i64::MAX);
    let row = shared.query_opt(client, &sql, &[&job, &most]).await?;
    let Some(row) = row else { return Ok(Overview::default()) };
    let due =
        |at| Ok::<_, PostgresError>(column::<Option<i64>>(&row, at)?.map(Timestamp::from_micros));
    let mut overview = Overview::new(counted(&row, 0)?);
    overview.next_suspect = due(10)?;
    overview.next_due = due(9)?.into_iter().chain(overview.next_suspect).min();
    overview.waiting = unsigned(&row, 11)?;
    Ok(overview)
}

/// The counts of a job, added up over its shards.
const SUMS: &str = "sum(pending)::bigint, sum(leased)::bigint, sum(succeeded)::bigint, \
     sum(dead)::bigint, sum(skipped)::bigint, sum(attempts)::bigint, sum(lost)::bigint, \
     least(sum(worked), 9223372036854775807)::bigint, \
     least(sum(waited), 9223372036854775807)::bigint";

/// Reads [`SUMS`] from this column on.
fn counted(row: &Row, from: usize) -> Result<Counts, PostgresError> {
    let mut counts = Counts::default();
    counts.pending = unsigned(row, from)?;
    counts.leased = unsigned(row, from + 1)?;
    counts.succeeded = unsigned(row, from + 2)?;
    counts.dead = unsigned(row, from + 3)?;
    counts.skipped = unsigned(row, from + 4)?;
    counts.attempts = unsigned(row, from + 5)?;
    counts.lost = unsigned(row, from + 6)?;
    counts.worked = Duration::from_micros(unsigned(row, from + 7)?);
    counts.waited = Duration::from_micros(unsigned(row, from + 8)?);
    Ok(counts)
}

/// Jobs older than `after`, the newest first.
pub(crate) async fn jobs(
    client: &PooledClient,
    shared: &Shared,
    after: Option<Cursor>,
    max: usize,
) -> Result<Page<JobRow>, PostgresError> {
    let mut page = Page::new(Vec::new(), None);
    let mut last = after.unwrap_or(Cursor(i64::MAX));
    // A removed job leaves its number behind. The counts are looked up job by job, so that only
    // the counts of the jobs on the page are read.
    let sql = format!(
        "SELECT j.job, j.name, v.value, c.* FROM @jobs j \
         LEFT JOIN @vals v ON v.key = 'job/' || j.name \
         CROSS JOIN LATERAL (SELECT {SUMS} FROM @counts c WHERE c.job = j.job) \
             AS c(pending, leased, succeeded, dead, skipped, attempts, lost, worked, waited) \
         WHERE j.job < $1 AND (v.key IS NOT NULL \
             OR c.pending + c.leased + c.succeeded + c.dead + c.skipped > 0) \
         ORDER BY j.job DESC LIMIT $2::bigint"
    );
    let rows = shared.query(client, &sql, &[&last.0, &limit(max.saturating_add(1))]).await?;
    for row in &rows {
        if page.items.len() >= max {
            page.next = Some(last);
            break;
        }
        last = Cursor(column(row, 0)?);
        page.items.push(JobRow::new(text(row, 1)?, text_opt(row, 2)?, counted(row, 3)?));
    }
    Ok(page)
}

pub(crate) async fn item(
    client: &PooledClient,
    shared: &Shared,
    job: &str,
    id: &str,
) -> Result<Option<ItemRecord>, PostgresError> {
    let Some(job) = shared.find_job(client, job).await? else { return Ok(None) };
    // One statement for the item and its history, and so one snapshot.
    let sql = format!(
        "SELECT {COLUMNS}, h.run, h.attempt, h.started, h.duration, h.wait, w.name, h.step, \
             h.outcome, h.failure, h.output \
         FROM @items i JOIN @states s ON s.item = i.item LEFT JOIN @failures f ON f.item = i.item \
         LEFT JOIN @history h ON h.item = i.item LEFT JOIN @workers w ON w.worker = h.worker \
         WHERE i.job = $1 AND i.id = $2 ORDER BY h.token, h.part"
    );
    let rows = shared.query(client, &sql, &[&job, &encode(id)]).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let mut item = record(first)?;
    for row in &rows {
        item.history.extend(attempt(row, 14)?);
    }
    Ok(Some(item))
}

pub(crate) async fn list(
    client: &PooledClient,
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
    let most = limit(max.saturating_add(MAX_ROWS_SCANNED));
    let look = selection.look.take();
    let sql = match &look {
        // Items come in order, and no more of them are looked at than necessary.
        Some(look) => {
            let (job, signature) = (look.job, look.signature.clone());
            let places = [selection.add(job), selection.add(signature), after, selection.add(most)];
            let looked_at = look.sql(places.each_ref().map(String::as_str));
            let clauses = selection.clauses_for_each_of(&looked_at);
            let order = look.columns("w");
            format!("SELECT {COLUMNS} {clauses} ORDER BY {order} LIMIT {max_and_one}::bigint")
        }
        None => {
            let (clauses, order) = (selection.clauses(), selection.order);
            format!(
                "SELECT {COLUMNS} {clauses} AND s.item > {after}::bigint {order} \
                 LIMIT {max_and_one}::bigint"
            )
        }
    };
    let began = last.0;
    let mut rows = pin!(shared.stream(client, &sql, &selection.values()).await?);
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
    if let (Some(look), None) = (look, page.next) {
        // If the limit was reached, there may be more.
        let looked_at = look.sql(["$1", "$2", "$3", "$4"]);
        let sql = format!("SELECT max(w.item) FROM ({looked_at}) w HAVING count(*) >= $4::bigint");
        let values: Values<'_> = &[&look.job, &look.signature, &began, &most];
        let end = shared.query_opt(client, &sql, values).await?;
        page.next = end.map(|row| column(&row, 0).map(Cursor)).transpose()?;
    }
    Ok(page)
}

fn record(row: &Row) -> Result<ItemRecord, PostgresError> {
    let mut item = ItemRecord::new(text(row, 1)?, text(row, 2)?, text(row, 3)?);
    if let Some(own) = text_opt(row, 4)? {
        item.correlation = own;
    }
    let code = column(row, 5)?;
    item.state = codes::state(code).ok_or_else(|| unknown("state", code))?;
    item.priority = codes::priority(column(row, 13)?);
    item.run = small(row, 6)?;
    item.attempt = small(row, 7)?;
    item.due = column::<Option<i64>>(row, 8)?.map(Timestamp::from_micros);
    item.ended = column::<Option<i64>>(row, 9)?.map(Timestamp::from_micros);
    item.output = text_opt(row, 10)?;
    item.checkpoint = text_opt(row, 12)?;
    item.failure = column::<Option<String>>(row, 11)?.map(|json| read_json(&json)).transpose()?;
    Ok(item)
}

/// The row of history that starts in this column, if there is one.
fn attempt(row: &Row, from: usize) -> Result<Option<AttemptRecord>, PostgresError> {
    let Some(code) = column::<Option<i16>>(row, from + 7)? else { return Ok(None) };
    let outcome = codes::outcome(code).ok_or_else(|| unknown("outcome", code))?;
    let started = Timestamp::from_micros(column(row, from + 2)?);
    let mut attempt = AttemptRecord::new(text(row, from + 5)?, started, outcome);
    attempt.run = small(row, from)?;
    attempt.attempt = small(row, from + 1)?;
    attempt.duration = Duration::from_micros(unsigned(row, from + 3)?);
    attempt.wait = Duration::from_micros(unsigned(row, from + 4)?);
    attempt.step = text_opt(row, from + 6)?;
    let failure = column::<Option<String>>(row, from + 8)?;
    attempt.failure = failure.map(|json| read_json(&json)).transpose()?;
    attempt.output = text_opt(row, from + 9)?;
    Ok(Some(attempt))
}

fn unknown(what: &str, code: i16) -> PostgresError {
    PostgresError::other(format!("an item has the {what} {code}, which this program does not know"))
}
