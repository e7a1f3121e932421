//! Items that are new to the store: enqueued, or imported with their history.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use retry_workflow::store::codes::{PURGED, state_code};
use retry_workflow::store::{NewItem, Priorities};
use retry_workflow::{ItemRecord, ItemState, Timestamp};

use super::settle::{Rows, counted};
use crate::server::PostgresResult;
use crate::server::columns::column;
use crate::server::text::encode;
use crate::store::session::{Session, Values};

/// The largest number of items that one statement imports.
const IMPORTED_AT_ONCE: usize = 1_000;

/// Behind this many bytes of payloads, the next statement begins: a message to the server has a
/// limit, and is held in memory on both sides.
const BYTES_AT_ONCE: usize = 8 << 20;

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
    session: Session<'_>,
    job: &str,
    items: &[NewItem],
    due: Timestamp,
) -> PostgresResult<u64> {
    if items.is_empty() {
        return Ok(0);
    }
    if items.iter().any(|item| item.priority != 0) {
        // Each new number has to be matched with its priority: an import does that for all columns.
        let record = |item: &NewItem| {
            let mut record = ItemRecord::new(job, &item.id, &item.payload);
            if let Some(own) = &item.correlation {
                record.correlation.clone_from(own);
            }
            record.priority = Priorities::default().add(item.priority);
            record.due = Some(due);
            record
        };
        let items: Vec<_> = items.iter().map(record).collect();
        return import(session, &items).await;
    }
    let job = session.job(job).await?;
    let ids: Vec<_> = items.iter().map(|item| encode(&item.id)).collect();
    let correlations: Vec<_> =
        items.iter().map(|item| item.correlation.as_deref().map(encode)).collect();
    let payloads: Vec<_> = items.iter().map(|item| encode(&item.payload)).collect();
    let due = due.as_micros();
    session.count(ENQUEUE, &[&job, &ids, &correlations, &payloads, &due]).await
}

/// Adds imported items, and returns those that are new: all that follows is about them alone.
const IMPORT_ITEMS: &str = "\
INSERT INTO @items (job, id, correlation, payload)
SELECT w.job, w.id, w.correlation, w.payload
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS w(job, id, correlation, payload)
ON CONFLICT (job, id) DO NOTHING
RETURNING job, id, item";

/// The states of imported items that are new, by column; each index is one item.
#[derive(Default)]
struct NewStates<'a> {
    item: Vec<i64>,
    job: Vec<i64>,
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
    priority: Vec<i16>,
    /// The numbers that each item adds to the counts: attempts, losses, time worked and waited.
    sums: [Vec<i64>; 4],
}

impl<'a> NewStates<'a> {
    fn push(&mut self, number: i64, job: i64, item: &'a ItemRecord) -> PostgresResult<()> {
        let is_purged = item.state == ItemState::Skipped && item.payload.is_empty();
        self.item.push(number);
        self.job.push(job);
        self.state.push(if is_purged { PURGED } else { state_code(item.state) });
        self.due.push(item.due.map(Timestamp::as_micros));
        self.run.push(item.run.into());
        self.attempt.push(item.attempt.into());
        self.ended.push(item.ended.map(Timestamp::as_micros));
        self.output.push(item.output.as_deref().map(encode));
        self.checkpoint.push(item.checkpoint.as_deref().map(encode));
        self.priority.push(item.priority.into());
        let failure = item.failure.as_ref();
        self.class.push(failure.map(|failure| encode(&failure.class)));
        self.signature.push(failure.map(|failure| encode(failure.signature.as_str())));
        self.failure.push(failure.map(super::settle::json).transpose()?);
        for (column, sum) in self.sums.iter_mut().zip(super::settle::sums(&item.history)) {
            column.push(sum);
        }
        Ok(())
    }
}

/// The items are numbered already, by [`IMPORT_ITEMS`]. One statement for both would have to find
/// the new numbers by joining the batch with itself, which is a nested loop: connections are set to
/// prefer nested loops, for all statements that go by an index.
const IMPORT: &str = "\
WITH known AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[],
        $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
        $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::smallint[])
        AS w(item, job, state, due, run, attempt, ended, output, checkpoint, class, signature,
            failure, attempts, lost, worked, waited, priority)
), stated AS (
    INSERT INTO @states (item, job, state, due, run, attempt, ended, output, checkpoint, claim_rank)
    SELECT item, job, state, due, run, attempt, ended, output, checkpoint,
        4 * priority + CASE WHEN due IS NOT NULL AND attempt > 0 THEN 2 ELSE 0 END
    FROM known
), failed AS (
    INSERT INTO @failures (item, job, ended, state, class, signature, failure)
    SELECT item, job, ended, state, class, signature, failure FROM known WHERE failure IS NOT NULL
)
@COUNTED
FROM (SELECT job, 0 AS leased, count(*) FILTER (WHERE state = 0) AS pending,
        count(*) FILTER (WHERE state = 2) AS succeeded,
        count(*) FILTER (WHERE state = 3) AS dead,
        count(*) FILTER (WHERE state >= 4) AS skipped,
        sum(attempts) AS attempts, sum(lost) AS lost, sum(worked) AS worked,
        sum(waited) AS waited
    FROM known GROUP BY job) n
@HERE";

static IMPORT_SQL: LazyLock<String> = LazyLock::new(|| counted(IMPORT));

/// Adds items that are already [in the form an import gives them](ItemRecord::imported).
pub(crate) async fn import(session: Session<'_>, items: &[ItemRecord]) -> PostgresResult<u64> {
    // Of items with the same name, the first counts.
    let mut seen = HashSet::new();
    let items: Vec<_> = items.iter().filter(|item| seen.insert((&item.job, &item.id))).collect();
    let mut jobs = Vec::with_capacity(items.len());
    for item in &items {
        jobs.push(session.job(&item.job).await?);
        // Workers are numbered first: that needs no transaction.
        for row in &item.history {
            session.worker(&row.worker).await?;
        }
    }
    session.begin().await?;
    session.end(import_all(session, &items, &jobs).await).await
}

/// As [`import`], in a transaction.
async fn import_all(
    session: Session<'_>,
    mut items: &[&ItemRecord],
    mut jobs: &[i64],
) -> PostgresResult<u64> {
    let mut added = 0;
    while !items.is_empty() {
        let (some, left) = items.split_at(fitting(items));
        let (of_jobs, of_others) = jobs.split_at(some.len());
        (items, jobs) = (left, of_others);
        added += import_some(session, some, of_jobs).await?;
    }
    Ok(added)
}

/// Returns how many of these items one statement imports: at least one.
fn fitting(items: &[&ItemRecord]) -> usize {
    let mut bytes = 0_usize;
    let fits = |item: &&&ItemRecord| {
        let has_room = bytes < BYTES_AT_ONCE;
        bytes = bytes.saturating_add(item.payload.len());
        has_room
    };
    items.iter().take(IMPORTED_AT_ONCE).take_while(fits).count()
}

async fn import_some(
    session: Session<'_>,
    items: &[&ItemRecord],
    jobs: &[i64],
) -> PostgresResult<u64> {
    let ids: Vec<_> = items.iter().map(|item| encode(&item.id)).collect();
    let correlations: Vec<_> =
        items.iter().map(|item| item.own_correlation().map(encode)).collect();
    let payloads: Vec<_> = items.iter().map(|item| encode(&item.payload)).collect();
    let values: Values<'_> = &[&jobs, &ids, &correlations, &payloads];
    let added = session.query(IMPORT_ITEMS, values).await?;
    if added.is_empty() {
        return Ok(0);
    }
    let places: HashMap<(i64, &str), usize> =
        jobs.iter().zip(&ids).enumerate().map(|(at, (job, id))| ((*job, &**id), at)).collect();
    let mut columns = NewStates::default();
    // No lease has token 0, so these rows come before all others.
    let mut rows = Rows::default();
    for row in &added {
        let (job, number) = (column(row, 0)?, column(row, 2)?);
        let id: &str = row.try_get(1)?;
        let Some(item) = places.get(&(job, id)).and_then(|at| items.get(*at)) else { continue };
        columns.push(number, job, item)?;
        for (part, attempt) in item.history.iter().enumerate() {
            let by = session.worker(&attempt.worker).await?;
            rows.push((number, 0), part, attempt, by)?;
        }
    }
    let NewStates { sums: [attempts, lost, worked, waited], .. } = &columns;
    let values: Values<'_> = &[
        &columns.item,
        &columns.job,
        &columns.state,
        &columns.due,
        &columns.run,
        &columns.attempt,
        &columns.ended,
        &columns.output,
        &columns.checkpoint,
        &columns.class,
        &columns.signature,
        &columns.failure,
        attempts,
        lost,
        worked,
        waited,
        &columns.priority,
    ];
    session.execute(&IMPORT_SQL, values).await?;
    add_priorities(session, &columns).await?;
    rows.write(session).await?;
    Ok(u64::try_from(added.len()).unwrap_or(u64::MAX))
}

/// Adds the priorities of new items to the priorities of their jobs.
const ADD_PRIORITIES: &str = "\
UPDATE @jobs j SET priorities = j.priorities | n.bits
FROM unnest($1::bigint[], $2::integer[]) AS n(job, bits)
WHERE j.job = n.job AND j.priorities & n.bits <> n.bits";

async fn add_priorities(session: Session<'_>, columns: &NewStates<'_>) -> PostgresResult<()> {
    let mut new = BTreeMap::<i64, Priorities>::new();
    for (job, priority) in columns.job.iter().zip(&columns.priority) {
        if let Ok(priority @ (..=-1 | 1..)) = i8::try_from(*priority) {
            new.entry(*job).or_default().add(priority);
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let (jobs, bits): (Vec<_>, Vec<_>) = new
        .into_iter()
        .map(|(job, new)| (job, i32::try_from(new.bits()).unwrap_or_default()))
        .unzip();
    session.execute(ADD_PRIORITIES, &[&jobs, &bits]).await?;
    Ok(())
}
