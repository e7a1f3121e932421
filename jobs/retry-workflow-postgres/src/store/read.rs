//! Reading items: one with its history, or many without.

use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream as _;
use retry_workflow::store::sql::{self, limit};
use retry_workflow::store::{Cursor, JobRow, MAX_ROWS_SCANNED, Overview, Page};
use retry_workflow::{Filter, ItemRecord, Timestamp};

use super::cursors::ClaimCursor;
use super::layout::LEVELS;
use super::selection::FilteredItems;
use super::session::{Session, Values};
use crate::server::PostgresResult;
use crate::server::columns::{column, columns, columns_after};
use crate::server::text::encode;

/// A page of a list ends at this size, in bytes of payloads, outputs and checkpoints.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;

/// Selects when the next waiting item can be claimed: new (0), a suspect (1), or begun (2).
const NEXT: &str = "(SELECT min(n.due) FROM levels l CROSS JOIN LATERAL (\
     SELECT s.due FROM @states s WHERE s.job = $1 AND s.claim_rank = 4 * l.priority + # \
     AND s.due IS NOT NULL AND s.due < 9223372036854775807 @AMONG ORDER BY s.due, s.item LIMIT 1) n)";

/// Items after the cursors in parameters 4 and 5.
const AFTER_NEW: &str = "AND (s.due, s.item) > (($4::bigint[])[l.level], ($5::bigint[])[l.level])";
/// Items after the cursors in parameters 6 and 7.
const AFTER_BEGUN: &str =
    "AND (s.due, s.item) > (($6::bigint[])[l.level], ($7::bigint[])[l.level])";

pub(crate) async fn overview(
    session: Session<'_>,
    job: &str,
    most_waiting: u64,
) -> PostgresResult<Overview> {
    session.shared.clock.renew(session.client).await?;
    let Some(job) = session.find_job(job).await? else { return Ok(Overview::default()) };
    let most = i64::try_from(most_waiting).unwrap_or(i64::MAX);
    let (near, now) = (session.shared.cursors.of(job), session.shared.clock.now());
    let beginning = ClaimCursor::BEGINNING;
    let has_claimed = near != beginning;
    // As long as something is due after what has been claimed, it does not matter what comes before
    // or later, and once all items have ended nothing is due. Otherwise it takes a scan of all that
    // was claimed since the last vacuum.
    let due = if has_claimed { now } else { Timestamp::NEVER };
    let (overview, next) = overview_after(session, job, most, &near, due).await?;
    if !has_claimed || next.is_some() || overview.counts.unfinished() == 0 {
        return Ok(overview);
    }
    let (overview, next) = overview_after(session, job, most, &beginning, Timestamp::NEVER).await?;
    if let Some(missed) = next.filter(|next| *next <= now) {
        session.shared.cursors.rewind_to(missed.as_micros());
    }
    Ok(overview)
}

/// The overview of items after this cursor and due by this time, and when the first of them is due
/// that is no suspect.
async fn overview_after(
    session: Session<'_>,
    job: i64,
    most_waiting: i64,
    cursor: &ClaimCursor,
    due: Timestamp,
) -> PostgresResult<(Overview, Option<Timestamp>)> {
    let next = |queue, among: &str| NEXT.replace('#', queue).replace("@AMONG", among);
    let sql = format!(
        "WITH {LEVELS} SELECT {}, least({}, {}), {}, (SELECT count(*) FROM (\
             SELECT 1 FROM levels l JOIN @states s ON s.claim_rank = 4 * l.priority \
             WHERE s.job = $1 AND s.due IS NOT NULL {AFTER_NEW} AND s.state = 0 AND s.run = 0 \
             AND s.attempt = 0 LIMIT $2::bigint) w) \
         FROM @counts WHERE job = $1 HAVING count(*) > 0",
        sums(&sql::COUNTS),
        next("0", &format!("AND s.due <= $3::bigint {AFTER_NEW}")),
        next("2", &format!("AND s.due <= $3::bigint {AFTER_BEGUN}")),
        next("1", ""),
    );
    let (new, begun) = (cursor.new.columns(), cursor.begun.columns());
    let values: Values<'_> =
        &[&job, &most_waiting, &due.as_micros(), &new.0, &new.1, &begun.0, &begun.1];
    let row = session.query_opt(&sql, values).await?;
    let Some(row) = row else { return Ok(Default::default()) };
    let mut columns = columns(&row);
    let mut overview = Overview::new(sql::counts(&mut columns)?);
    let next = columns.time_opt()?;
    overview.next_suspect = columns.time_opt()?;
    overview.next_due = next.into_iter().chain(overview.next_suspect).min();
    overview.waiting = columns.count()?;
    Ok((overview, next))
}

/// Counts, added up over their shards.
fn sums(columns: &[&str]) -> String {
    sql::each(columns, |column| format!("least(sum({column}), 9223372036854775807)::bigint"))
}

/// Jobs older than `after`, the newest first.
pub(crate) async fn jobs(
    session: Session<'_>,
    after: Option<Cursor>,
    max: usize,
) -> PostgresResult<Page<JobRow>> {
    let mut page = Page::new(Vec::new(), None);
    let mut last = after.unwrap_or(Cursor(i64::MAX));
    // A removed job leaves its number behind. The counts are looked up job by job, so that only
    // the counts of the jobs on the page are read.
    let sql = format!(
        "SELECT j.job, j.name, v.value, c.* FROM @jobs j \
         LEFT JOIN @vals v ON v.key = 'job/' || j.name \
         CROSS JOIN LATERAL (SELECT {} FROM @counts c WHERE c.job = j.job) AS c({}) \
         WHERE j.job < $1 AND (v.key IS NOT NULL \
             OR c.pending + c.leased + c.succeeded + c.dead + c.skipped > 0) \
         ORDER BY j.job DESC LIMIT $2::bigint",
        sums(&sql::COUNTS),
        sql::COUNTS.join(", "),
    );
    let rows = session.query(&sql, &[&last.0, &limit(max.saturating_add(1))]).await?;
    for row in &rows {
        if page.items.len() >= max {
            page.next = Some(last);
            break;
        }
        let mut columns = columns(row);
        last = Cursor(columns.integer()?);
        let (job, record) = (columns.text()?, columns.text_opt()?);
        page.items.push(JobRow::new(job, record, sql::counts(&mut columns)?));
    }
    Ok(page)
}

/// The number of dead letters and of skipped items of all jobs.
pub(crate) async fn failures(session: Session<'_>) -> PostgresResult<(u64, u64)> {
    let sql = format!("SELECT {} FROM @counts HAVING count(*) > 0", sums(&["dead", "skipped"]));
    let Some(row) = session.query_opt(&sql, &[]).await? else { return Ok((0, 0)) };
    let mut columns = columns(&row);
    Ok((columns.count()?, columns.count()?))
}

pub(crate) async fn item(
    session: Session<'_>,
    job: &str,
    id: &str,
) -> PostgresResult<Option<ItemRecord>> {
    let Some(job) = session.find_job(job).await? else { return Ok(None) };
    // One statement for the item and its history, and so one snapshot.
    let sql = format!(
        "SELECT {}, {} \
         FROM @items i JOIN @states s ON s.item = i.item LEFT JOIN @failures f ON f.item = i.item \
         LEFT JOIN @history h ON h.item = i.item LEFT JOIN @workers w ON w.worker = h.worker \
         WHERE i.job = $1 AND i.id = $2 ORDER BY h.token, h.part",
        sql::ITEM,
        sql::ATTEMPT,
    );
    let rows = session.query(&sql, &[&job, &encode(id)]).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let (_, mut item) = sql::item(&mut columns(first))?;
    for row in &rows {
        item.history.extend(sql::attempt(&mut columns_after(row, sql::ITEM))?);
    }
    Ok(Some(item))
}

pub(crate) async fn list(
    session: Session<'_>,
    filter: &Filter,
    after: Option<Cursor>,
    max: usize,
) -> PostgresResult<Page<ItemRecord>> {
    let mut page = Page::new(Vec::new(), None);
    let Some(mut selection) = FilteredItems::resolve(session, filter).await? else {
        return Ok(page);
    };
    let mut last = after.unwrap_or(Cursor(0));
    let after = selection.add(last.0);
    let max_and_one = selection.add(limit(max.saturating_add(1)));
    let most = limit(max.saturating_add(MAX_ROWS_SCANNED));
    let (look, item) = (selection.look.take(), sql::ITEM);
    let sql = match &look {
        // Items come in order, and no more of them are looked at than necessary.
        Some(look) => {
            let (job, signature) = (look.job, look.signature.clone());
            let places = [selection.add(job), selection.add(signature), after, selection.add(most)];
            let looked_at = look.sql(places.each_ref().map(String::as_str));
            let clauses = selection.clauses_for_each_of(&looked_at);
            let order = look.columns("w");
            format!("SELECT {item} {clauses} ORDER BY {order} LIMIT {max_and_one}::bigint")
        }
        None => {
            let (clauses, order) = (selection.clauses(), selection.order);
            format!(
                "SELECT {item} {clauses} AND s.item > {after}::bigint {order} \
                 LIMIT {max_and_one}::bigint"
            )
        }
    };
    let began = last.0;
    let mut rows = pin!(session.stream(&sql, &selection.values()).await?);
    let mut bytes = 0_usize;
    while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
        if page.items.len() >= max || bytes >= LARGEST_PAGE {
            page.next = Some(last);
            break;
        }
        let item;
        (last, item) = sql::item(&mut columns(&row?))?;
        bytes = bytes.saturating_add(sql::size(&item));
        page.items.push(item);
    }
    if let (Some(look), None) = (look, page.next) {
        // If the limit was reached, there may be more.
        let looked_at = look.sql(["$1", "$2", "$3", "$4"]);
        let sql = format!("SELECT max(w.item) FROM ({looked_at}) w HAVING count(*) >= $4::bigint");
        let values: Values<'_> = &[&look.job, &look.signature, &began, &most];
        let end = session.query_opt(&sql, values).await?;
        page.next = end.map(|row| column(&row, 0).map(Cursor)).transpose()?;
    }
    Ok(page)
}
