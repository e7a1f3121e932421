//! Items that are new to the store: enqueued, or imported with their history.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use retry_workflow::store::NewItem;
use retry_workflow::{ItemRecord, ItemState, Timestamp};

use super::layout::{PURGED, code};
use super::settle::{Rows, counted};
use super::shared::Shared;
use super::summary::{self, Minutes};
use crate::server::columns::column;
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError};

/// How many items one statement imports.
const IMPORTED_AT_ONCE: usize = 200;

/// Items are numbered in the order given, in which `unnest` returns them.
const ENQUEUE: &str = "\
WITH added AS (
    INSERT INTO @items (job, id, correlation, payload)
    SELECT $1, w.id, w.correlation, w.payload
    FROM unnest($2::text[], $3::text[], $4::text[]) AS w(id, correlation, payload)
    ON CONFLICT (job, id) DO NOTHING
    RETURNING item
), stated AS (
    INSERT INTO @states (item, job, due) SELECT item, $1, $5::bigint FROM added
), counted AS (
    UPDATE @counts c SET pending = c.pending + n.items
    FROM (SELECT count(*) AS items FROM added) n
    WHERE c.job = $1 AND c.shard = mod(pg_backend_pid(), 16)::smallint AND n.items > 0
)
SELECT count(*) FROM added";

pub(crate) async fn enqueue(
    client: &PooledClient,
    shared: &Shared,
    job: &str,
    items: &[NewItem],
    due: Timestamp,
) -> Result<u64, PostgresError> {
    if items.is_empty() {
        return Ok(0);
    }
    let job = shared.job(client, job).await?;
    let ids: Vec<_> = items.iter().map(|item| encode(&item.id)).collect();
    let correlations: Vec<_> =
        items.iter().map(|item| item.correlation.as_deref().map(encode)).collect();
    let payloads: Vec<_> = items.iter().map(|item| encode(&item.payload)).collect();
    let due = due.as_micros();
    shared.count(client, ENQUEUE, &[&job, &ids, &correlations, &payloads, &due]).await
}

/// The columns of imported items; each index is one item.
#[derive(Default)]
struct Columns<'a> {
    job: Vec<i64>,
    id: Vec<Cow<'a, str>>,
    correlation: Vec<Option<Cow<'a, str>>>,
    payload: Vec<Cow<'a, str>>,
    state: Vec<i16>,
    due: Vec<Option<i64>>,
    run: Vec<i64>,
    attempt: Vec<i64>,
    ended: Vec<Option<i64>>,
    output: Vec<Option<Cow<'a, str>>>,
    class: Vec<Option<Cow<'a, str>>>,
    signature: Vec<Option<Cow<'a, str>>>,
    failure: Vec<Option<String>>,
    checkpoint: Vec<Option<Cow<'a, str>>>,
    /// What each item adds to the counts: attempts, losses, time worked and waited; then failed
    /// attempts.
    sums: [Vec<i64>; 5],
}

const IMPORT: &str = "\
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::smallint[],
        $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[],
        $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[],
        $18::text[])
        WITH ORDINALITY AS w(job, id, correlation, payload, state, due, run, attempt, ended,
            output, class, signature, failure, attempts, lost, worked, waited, checkpoint, place)
), added AS (
    INSERT INTO @items (job, id, correlation, payload)
    SELECT job, id, correlation, payload FROM wanted ORDER BY place
    ON CONFLICT (job, id) DO NOTHING
    RETURNING job, item, id
), known AS MATERIALIZED (
    SELECT a.item, w.* FROM added a JOIN wanted w ON w.job = a.job AND w.id = a.id
), stated AS (
    INSERT INTO @states (item, job, state, due, run, attempt, ended, output, checkpoint)
    SELECT item, job, state, due, run, attempt, ended, output, checkpoint FROM known
), failed AS (
    INSERT INTO @failures (item, job, class, signature, failure)
    SELECT item, job, class, signature, failure FROM known WHERE failure IS NOT NULL
), counted AS (
    @COUNTED
    FROM (SELECT job, 0 AS leased, count(*) FILTER (WHERE state = 0) AS pending,
            count(*) FILTER (WHERE state = 2) AS succeeded,
            count(*) FILTER (WHERE state = 3) AS dead,
            count(*) FILTER (WHERE state >= 4) AS skipped,
            sum(attempts) AS attempts, sum(lost) AS lost, sum(worked) AS worked,
            sum(waited) AS waited
        FROM known GROUP BY job) n
    @HERE
), grouped AS (
    @GROUPED
)
SELECT item, place FROM known";

static IMPORT_SQL: LazyLock<String> = LazyLock::new(|| {
    let grouped = summary::add_to_groups_sql("(SELECT * FROM known WHERE failure IS NOT NULL)");
    counted(&IMPORT.replace("@GROUPED", &grouped))
});

/// Adds items that are already [in the form an import gives them](ItemRecord::imported).
pub(crate) async fn import(
    client: &mut PooledClient,
    shared: &Shared,
    items: &[ItemRecord],
) -> Result<u64, PostgresError> {
    // Of items with the same name, the first counts.
    let mut seen = HashSet::new();
    let items: Vec<_> = items.iter().filter(|item| seen.insert((&item.job, &item.id))).collect();
    let mut jobs = Vec::with_capacity(items.len());
    for item in &items {
        jobs.push(shared.job(client, &item.job).await?);
        // Workers are numbered first: that needs no transaction.
        for row in &item.history {
            shared.worker(client, &row.worker).await?;
        }
    }
    client.batch_execute("BEGIN").await?;
    let mut added = 0;
    for (items, jobs) in items.chunks(IMPORTED_AT_ONCE).zip(jobs.chunks(IMPORTED_AT_ONCE)) {
        match import_some(client, shared, items, jobs).await {
            Ok(more) => added += more,
            Err(error) => {
                if error.leaves_connection() {
                    client.batch_execute("ROLLBACK").await?;
                }
                return Err(error);
            }
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(added)
}

async fn import_some(
    client: &PooledClient,
    shared: &Shared,
    items: &[&ItemRecord],
    jobs: &[i64],
) -> Result<u64, PostgresError> {
    let mut columns = Columns::default();
    for (item, &job) in items.iter().zip(jobs) {
        let is_purged = item.state == ItemState::Skipped && item.payload.is_empty();
        columns.job.push(job);
        columns.id.push(encode(&item.id));
        columns.correlation.push(item.own_correlation().map(encode));
        columns.payload.push(encode(&item.payload));
        columns.state.push(if is_purged { PURGED } else { code(item.state) });
        columns.due.push(item.due.map(Timestamp::as_micros));
        columns.run.push(item.run.into());
        columns.attempt.push(item.attempt.into());
        columns.ended.push(item.ended.map(Timestamp::as_micros));
        columns.output.push(item.output.as_deref().map(encode));
        columns.checkpoint.push(item.checkpoint.as_deref().map(encode));
        let failure = item.failure.as_ref();
        columns.class.push(failure.map(|failure| encode(&failure.class)));
        columns.signature.push(failure.map(|failure| encode(failure.signature.as_str())));
        columns.failure.push(failure.map(super::settle::json).transpose()?);
        let sums = super::settle::sums(&item.history);
        for (column, sum) in columns.sums.iter_mut().zip(sums) {
            column.push(sum);
        }
    }
    let Columns { sums: [attempts, lost, worked, waited, _failed], .. } = &columns;
    let added = shared
        .query(
            client,
            &IMPORT_SQL,
            &[
                &columns.job,
                &columns.id,
                &columns.correlation,
                &columns.payload,
                &columns.state,
                &columns.due,
                &columns.run,
                &columns.attempt,
                &columns.ended,
                &columns.output,
                &columns.class,
                &columns.signature,
                &columns.failure,
                attempts,
                lost,
                worked,
                waited,
                &columns.checkpoint,
            ],
        )
        .await?;
    // No lease has token 0, so these rows come before all others.
    let (mut rows, mut minutes) = (Rows::default(), Minutes::default());
    for row in &added {
        let place = usize::try_from(column::<i64>(row, 1)?).unwrap_or(0);
        let Some(place) = place.checked_sub(1) else { continue };
        let (Some(item), Some(job)) = (items.get(place), jobs.get(place)) else { continue };
        minutes.add(*job, item);
        for (part, attempt) in item.history.iter().enumerate() {
            let by = shared.worker(client, &attempt.worker).await?;
            rows.push((column(row, 0)?, 0), part, attempt, by)?;
        }
    }
    rows.write(client, shared).await?;
    minutes.write(client, shared).await?;
    Ok(u64::try_from(added.len()).unwrap_or(u64::MAX))
}
