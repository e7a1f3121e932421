//! Failures that are alike, counted by the hour in which their items ended.

use retry_workflow::store::codes::codes;
use retry_workflow::store::sql::{self, limit};
use retry_workflow::store::{Group, HourCount};
use retry_workflow::{Filter, Timestamp};
use tokio_postgres::Row;

use super::selection::{Values, of_failure, of_ids};
use super::session::Session;
use crate::server::PostgresResult;
use crate::server::columns::{column, columns};

/// The failures that a filter selects, the largest group first.
pub(crate) async fn stats(
    session: Session<'_>,
    filter: &Filter,
    newest: Option<usize>,
) -> PostgresResult<Vec<Group>> {
    let Some(job) = session.job_of(filter).await? else { return Ok(Vec::new()) };
    let mut values = Values::default();
    let states = format!("f.state = ANY ({}::smallint[])", values.add(codes(filter)));
    let of_job = job.map(|job| values.add(job));
    let newest = newest.map(|newest| format!("{}::bigint", values.add(limit(newest))));
    let from = sql::failures(filter, "JOIN", (of_job, newest), &states);
    let ids = filter.ids.as_ref().map(|ids| of_ids("f", job, ids, &mut values));
    // Groups of equal size are in the order of their names.
    let sql = format!(
        "WITH hours AS MATERIALIZED (\
             SELECT f.class, f.signature, {} AS hour, count(*) AS count, \
                 min(f.ended) AS first, max(f.ended) AS last, max(f.item) AS item \
             FROM {from}{}{} GROUP BY f.class, f.signature, hour), \
         groups AS MATERIALIZED (\
             SELECT class, signature, sum(count) AS count, min(first) AS first, \
                 max(last) AS last, max(item) AS item, \
                 array_agg(hour ORDER BY hour) AS hours, array_agg(count ORDER BY hour) AS counts \
             FROM hours GROUP BY class, signature) \
         SELECT i.id, f.failure, g.first, g.last, g.hours, g.counts FROM groups g \
         JOIN @failures f ON f.item = g.item JOIN @items i ON i.job = f.job AND i.item = f.item \
         ORDER BY g.count DESC, g.class, g.signature",
        sql::hour("f.ended"),
        ids.unwrap_or_default(),
        of_failure(filter, "f.ended", &mut values),
    );
    let rows = session.query(&sql, &values.all()).await?;
    rows.iter().map(group).collect()
}

/// A group, from a row with the id and the failure of its example, its first and last time, and its
/// hours with their counts.
fn group(row: &Row) -> PostgresResult<Group> {
    let mut columns = columns(row);
    let (id, failure) = (columns.text()?, columns.failure()?);
    let mut group = Group::new(&columns.required(failure)?, id, columns.time()?);
    group.last = columns.time()?;
    let (hours, counts): (Vec<i64>, Vec<i64>) = (column(row, 4)?, column(row, 5)?);
    let hours = hours.into_iter().map(Timestamp::from_micros);
    let counts = counts.into_iter().map(i64::unsigned_abs);
    group.hours = hours.zip(counts).map(|(hour, count)| HourCount::new(hour, count)).collect();
    group.count = group.hours.iter().fold(0, |sum, hour| sum.saturating_add(hour.count));
    Ok(group)
}
