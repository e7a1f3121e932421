//! Settling leases: state, history, dead letter and counts change at once, for the items whose
//! leases are still held. One statement for a batch, however large.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use retry_workflow::store::codes::{PENDING, outcome_code, state_code};
use retry_workflow::store::sql::{self, micros};
use retry_workflow::store::{AttemptRecord, LeaseKey, Settled, Settlement, Start};
use retry_workflow::{Counts, Failure, Timestamp};

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::server::columns::{column, columns};
use crate::server::text::encode;
use crate::server::{PostgresError, PostgresResult};
use crate::store::session::{Session, Values};

/// The number of numeric columns of an item and of a row of history. Those of each share one array,
/// because each further column to unnest costs the server as much as a good part of its work.
const ITEM_NUMBERS: usize = 8;
const ROW_NUMBERS: usize = 9;

/// Replaces `#1` to `#9` with the numbers of `u.place`, in the array that is parameter `value` and
/// has so many numbers for each place.
fn with_numbers(sql: &str, value: usize, numbers: usize) -> String {
    (1..=numbers).fold(sql.to_owned(), |sql, number| {
        let at = numbers - number;
        let number = format!("#{number}");
        sql.replace(&number, &format!("(${value}::bigint[])[{numbers} * u.place::integer - {at}]"))
    })
}

/// Replaces `#FROM` with the items as `u`, with their place, and `#TEXTS` with these texts: the
/// parameters from `texts` on, or `NULL`s without them.
fn with_texts(sql: &str, items: usize, names: &[&str], texts: Option<usize>) -> String {
    let joined = |column: &dyn Fn(usize, &str) -> String| -> String {
        let columns = names.iter().enumerate().map(|(at, name)| column(at, name));
        columns.collect()
    };
    let Some(first) = texts else {
        let nulls = joined(&|_, name| format!(", NULL::text AS {name}"));
        let from = format!("FROM unnest(${items}::bigint[]) WITH ORDINALITY AS u(item, place)");
        return sql.replace("#TEXTS", &nulls).replace("#FROM", &from);
    };
    let arrays = joined(&|at, _| format!(", ${}::text[]", first + at));
    let names = joined(&|_, name| format!(", {name}"));
    let from =
        format!("FROM unnest(${items}::bigint[]{arrays}) WITH ORDINALITY AS u(item{names}, place)");
    sql.replace("#TEXTS", &joined(&|_, name| format!(", u.{name}"))).replace("#FROM", &from)
}

/// Rows of history.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    item: Vec<i64>,
    /// Of each row: token, part, run, attempt, start, duration, the wait after it, worker, outcome.
    numbers: Vec<i64>,
    step: Vec<Option<Cow<'a, str>>>,
    failure: Vec<Option<String>>,
    output: Vec<Option<Cow<'a, str>>>,
    has_texts: bool,
}

impl<'a> Rows<'a> {
    pub(crate) fn push(
        &mut self,
        (item, token): (i64, i64),
        part: usize,
        row: &'a AttemptRecord,
        worker: i64,
    ) -> PostgresResult<()> {
        self.item.push(item);
        self.numbers.extend([
            token,
            i64::from(i32::try_from(part).unwrap_or(i32::MAX)),
            row.run.into(),
            row.attempt.into(),
            row.started.as_micros(),
            micros(row.duration),
            micros(row.wait),
            worker,
            outcome_code(row.outcome).into(),
        ]);
        self.step.push(row.step.as_deref().map(encode));
        self.failure.push(row.failure.as_ref().map(json).transpose()?);
        self.output.push(row.output.as_deref().map(encode));
        self.has_texts |= row.step.is_some() || row.failure.is_some() || row.output.is_some();
        Ok(())
    }

    /// Writes the rows, whose items must exist.
    pub(crate) async fn write(&self, session: Session<'_>) -> PostgresResult<()> {
        if self.item.is_empty() {
            return Ok(());
        }
        let sql = written((1, Some(3)), "");
        let values: Values<'_> =
            &[&self.item, &self.numbers, &self.step, &self.failure, &self.output];
        session.execute(&sql, values).await?;
        Ok(())
    }
}

/// Inserts rows of history: parameter `items` has their items, the next one their numbers, and
/// those from `texts` on their texts.
fn written((items, texts): (usize, Option<usize>), condition: &str) -> String {
    let sql = format!(
        "INSERT INTO @history (item, token, part, run, attempt, started, duration, wait, worker, \
             outcome, step, failure, output) \
         SELECT u.item, #1, #2::integer, #3, #4, #5, #6, #7, #8, #9::smallint#TEXTS #FROM{condition}"
    );
    let sql = with_texts(&sql, items, &["step", "failure", "output"], texts);
    with_numbers(&sql, items + 1, ROW_NUMBERS)
}

/// Expands `@COUNTED FROM (…) n @HERE`: adds `n` to the counts of jobs, in this connection's shard.
pub(crate) fn counted(text: &str) -> String {
    let sums = sql::each(&sql::COUNTS, |column| format!("{column} = c.{column} + n.{column}"));
    text.replace("@COUNTED", &format!("UPDATE @counts c SET {sums}"))
        .replace("@HERE", "WHERE c.job = n.job AND c.shard = mod(pg_backend_pid(), 16)::smallint")
}

/// Returns the numbers that rows of history add to the counts: attempts, losses, time worked and
/// waited.
pub(crate) fn sums(history: &[AttemptRecord]) -> [i64; 4] {
    let mut counts = Counts::default();
    for row in history {
        counts.add_attempt(row);
    }
    let [_, _, _, _, _, sums @ ..] = sql::values_of_counts(&counts);
    sums
}

/// A failure as it is stored.
pub(crate) fn json(failure: &Failure) -> PostgresResult<String> {
    // JSON escapes what Postgres cannot store.
    serde_json::to_string(failure).map_err(PostgresError::other)
}

/// The codes of the ways in which an attempt is taken back.
const RELEASED: i64 = 1;
const DEFERRED: i64 = 2;
const DEFERRED_FOR_LIMIT: i64 = 3;

/// The new states of items, by column; each index is one item.
#[derive(Default)]
struct Ends<'a> {
    item: Vec<i64>,
    token: Vec<i64>,
    /// Of each item: token, state, due time, whether its attempt is taken back, and four sums.
    numbers: Vec<i64>,
    checkpoint: Vec<Option<Cow<'a, str>>>,
    output: Vec<Option<Cow<'a, str>>>,
    class: Vec<Option<Cow<'a, str>>>,
    signature: Vec<Option<Cow<'a, str>>>,
    failure: Vec<Option<String>>,
    has_texts: bool,
}

impl<'a> Ends<'a> {
    fn push(&mut self, settlement: &'a Settlement, now: Timestamp) -> PostgresResult<()> {
        let Settlement { lease, end, history, .. } = settlement;
        let (checkpoint, output, failure) = (end.checkpoint(), end.output(), end.failure());
        let due = end.due(now).map_or(0, Timestamp::as_micros);
        let token = i64::try_from(lease.token).unwrap_or(i64::MAX);
        self.item.push(lease.item);
        self.token.push(token);
        let back = match end {
            Settled::Released => RELEASED,
            Settled::Deferred { for_limit: true, .. } => DEFERRED_FOR_LIMIT,
            Settled::Deferred { .. } => DEFERRED,
            _ => 0,
        };
        self.numbers.extend([token, state_code(end.state()).into(), due, back]);
        self.numbers.extend(sums(history));
        self.has_texts |= checkpoint.is_some() || output.is_some() || failure.is_some();
        self.checkpoint.push(checkpoint.map(encode));
        self.output.push(output.map(encode));
        self.class.push(failure.map(|failure| encode(&failure.class)));
        self.signature.push(failure.map(|failure| encode(failure.signature.as_str())));
        self.failure.push(failure.map(json).transpose()?);
        Ok(())
    }
}

/// Rows are locked in the given order, the order of their items, as in every statement that locks
/// several rows. History is matched with `held` through a hashed subplan, which `IS TRUE`
/// preserves: a join would be a nested loop.
const SETTLE: &str = "\
WITH wanted AS MATERIALIZED (
    SELECT u.item, #1 AS token, #2::smallint AS state, CASE WHEN #2 = 0 THEN #3 END AS due,
        CASE WHEN #2 <> 0 THEN $3::bigint END AS ended, #4 <> 0 AS is_back, #4 >= 2 AS is_deferred,
        #4 = 3 AS for_limit, #5 AS attempts, #6 AS lost, #7 AS worked, #8 AS waited#TEXTS
    #FROM
), held AS (
    UPDATE @states s SET state = h.state, due = h.due, ended = h.ended,
        checkpoint = CASE WHEN h.is_back AND NOT h.is_deferred THEN s.checkpoint
            ELSE h.checkpoint END,
        output = CASE WHEN h.is_back THEN s.output ELSE h.output END,
        lost = CASE WHEN h.is_back THEN s.lost ELSE 0 END,
        dropped = CASE WHEN h.is_back THEN s.dropped ELSE 0 END,
        claim_rank = (s.claim_rank & -4) + CASE
            WHEN h.is_back AND s.lost::bigint + s.dropped >= 2 THEN 1
            WHEN h.is_deferred OR h.is_back AND s.attempt > 1
                OR h.due IS NOT NULL AND NOT h.is_back THEN 2
            ELSE 0 END,
        attempt = CASE WHEN h.is_back THEN greatest(s.attempt - 1, 0) ELSE s.attempt END,
        started = CASE WHEN h.is_back THEN NULL ELSE s.started END,
        worker = CASE WHEN h.for_limit THEN NULL ELSE s.worker END
    FROM wanted h WHERE s.item = h.item AND s.token = h.token AND s.state = 1
    RETURNING h.*, s.job
), @FAILED written AS (
    @WRITTEN
), begun AS (
    UPDATE @states s SET started = b.at
    FROM unnest($4::bigint[], $5::bigint[], $6::bigint[]) AS b(item, token, at)
    WHERE s.item = b.item AND s.token = b.token AND s.state = 1
), summed AS MATERIALIZED (
    SELECT job, -count(*) AS leased, count(*) FILTER (WHERE state = 0) AS pending,
        count(*) FILTER (WHERE state = 2) AS succeeded,
        count(*) FILTER (WHERE state = 3) AS dead,
        count(*) FILTER (WHERE state = 4) AS skipped,
        sum(attempts) AS attempts, sum(lost) AS lost, sum(worked) AS worked,
        sum(waited) AS waited
    FROM held GROUP BY job
), counted AS (
    @COUNTED FROM summed n @HERE
)
SELECT item, token, job, state FROM held";

/// The update of failures.
const FAILED: &str = "\
failed AS (
    INSERT INTO @failures AS f (item, job, ended, state, class, signature, failure)
    SELECT item, job, ended, state, class, signature, failure FROM held WHERE failure IS NOT NULL
    ON CONFLICT (item) DO UPDATE SET ended = excluded.ended, state = excluded.state,
        class = excluded.class, signature = excluded.signature, failure = excluded.failure
), ";

/// With texts, and without: then nothing has failed.
static SETTLE_SQL: LazyLock<[String; 2]> = LazyLock::new(|| {
    let held = " WHERE ((u.item, #1) IN (SELECT held.item, held.token FROM held)) IS TRUE";
    [Some((9, 14)), None].map(|texts| {
        let names = ["checkpoint", "output", "class", "signature", "failure"];
        let wanted = with_texts(SETTLE, 1, &names, texts.map(|(first, _)| first));
        let sql = with_numbers(&wanted, 2, ITEM_NUMBERS)
            .replace("@WRITTEN", &written((7, texts.map(|(_, first)| first)), held))
            .replace("@FAILED ", if texts.is_some() { FAILED } else { "" });
        counted(&sql)
    })
});

/// Returns which of the leases were settled, and the jobs to which items were put back.
/// `maybe_done`: an earlier attempt at this was cut off.
pub(crate) async fn settle(
    session: Session<'_>,
    settlements: &[Settlement],
    started: &[Start],
    now: Timestamp,
    maybe_done: bool,
) -> PostgresResult<(Vec<bool>, BTreeSet<i64>)> {
    // Of settlements of the same lease, the first counts; a token that is too large was never
    // issued.
    let mut ordered: Vec<&Settlement> = Vec::with_capacity(settlements.len());
    let mut seen = HashSet::with_capacity(settlements.len());
    for settlement in settlements {
        if seen.insert(settlement.lease) && i64::try_from(settlement.lease.token).is_ok() {
            ordered.push(settlement);
        }
    }
    ordered.sort_by_key(|settlement| settlement.lease.item);
    let (mut ends, mut rows) = (Ends::default(), Rows::default());
    for settlement in &ordered {
        ends.push(settlement, now)?;
        let key = (settlement.lease.item, ends.token[ends.token.len() - 1]);
        for (part, row) in settlement.history.iter().enumerate() {
            let worker = session.worker(&row.worker).await?;
            rows.push(key, part, row, worker)?;
        }
    }
    // A lease that is settled here need not be started first.
    let starts = LeaseChanges::new(&[], started, |lease| seen.contains(lease));
    if ends.item.is_empty() && starts.item.is_empty() {
        return Ok((vec![false; settlements.len()], BTreeSet::new()));
    }
    let now = now.as_micros();
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![
        &ends.item,
        &ends.numbers,
        &now,
        &starts.item,
        &starts.token,
        &starts.at,
        &rows.item,
        &rows.numbers,
    ];
    let [with_texts, without] = &*SETTLE_SQL;
    let has_texts = ends.has_texts || rows.has_texts;
    let sql = if has_texts { with_texts } else { without };
    if has_texts {
        let texts = [&ends.checkpoint, &ends.output, &ends.class, &ends.signature];
        values.extend(texts.map(|text| text as &(dyn ToSql + Sync)));
        values.push(&ends.failure);
        values.extend([&rows.step as &(dyn ToSql + Sync), &rows.failure, &rows.output]);
    }
    let held = session.query(sql, &values).await?;
    let mut settled = keys(&held)?;
    let mut put_back = BTreeSet::new();
    for row in &held {
        if column::<i16>(row, 3)? == PENDING {
            put_back.insert(column(row, 2)?);
        }
    }
    if maybe_done && settled.len() < ordered.len() {
        settled.extend(settled_before(session, &ends, &ordered).await?);
    }
    let settled = settlements.iter().map(|settlement| settled.remove(&settlement.lease));
    Ok((settled.collect(), put_back))
}

/// The leases in the first two columns.
fn keys(rows: &[Row]) -> PostgresResult<HashSet<LeaseKey>> {
    let key = |row| {
        let mut columns = columns(row);
        Ok(LeaseKey { item: columns.integer()?, token: columns.number()? })
    };
    rows.iter().map(key).collect()
}

/// Returns which of these settlements were made by an earlier attempt whose answer was lost. If the
/// item still has the token but is no longer leased, that attempt settled it, because no other
/// worker had the token. If the item was leased again, the history shows it; a release leaves no
/// row there, and counts as done.
async fn settled_before(
    session: Session<'_>,
    ends: &Ends<'_>,
    settlements: &[&Settlement],
) -> PostgresResult<HashSet<LeaseKey>> {
    let released: Vec<_> = settlements.iter().map(|one| one.end.takes_back()).collect();
    let rows = session
        .query(
            "SELECT w.item, w.token FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) \
                 AS w(item, token, is_released) \
             CROSS JOIN LATERAL (SELECT s.token, s.state FROM @states s WHERE s.item = w.item) s \
             WHERE (s.token = w.token AND s.state <> 1) \
                OR (s.token > w.token AND (w.is_released OR EXISTS (SELECT 1 FROM @history h \
                    WHERE h.item = w.item AND h.token = w.token AND h.outcome <> 2)))",
            &[&ends.item, &ends.token, &released],
        )
        .await?;
    keys(&rows)
}

/// Changes to leases, each listed once: whether it is renewed, and when it was started.
#[derive(Default)]
struct LeaseChanges {
    item: Vec<i64>,
    token: Vec<i64>,
    is_renewed: Vec<bool>,
    at: Vec<Option<i64>>,
}

impl LeaseChanges {
    fn new(
        leases: &[LeaseKey],
        started: &[Start],
        is_left_out: impl Fn(&LeaseKey) -> bool,
    ) -> Self {
        let mut told = HashMap::<LeaseKey, (bool, Option<i64>)>::new();
        for lease in leases {
            told.entry(*lease).or_default().0 = true;
        }
        for Start { lease, at, .. } in started {
            told.entry(*lease).or_default().1 = Some(at.as_micros());
        }
        let mut told: Vec<_> = told.into_iter().filter(|(lease, _)| !is_left_out(lease)).collect();
        told.sort_by_key(|(lease, _)| (lease.item, lease.token));
        let mut changes = Self::default();
        for (lease, (is_renewed, at)) in told {
            // A token that is too large was never issued.
            let Ok(token) = i64::try_from(lease.token) else { continue };
            changes.item.push(lease.item);
            changes.token.push(token);
            changes.is_renewed.push(is_renewed);
            changes.at.push(at);
        }
        changes
    }
}

const EXTEND: &str = "\
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::bigint[])
        AS w(item, token, is_prolonged, at)
), held AS MATERIALIZED (
    SELECT w.* FROM wanted w CROSS JOIN LATERAL (
        SELECT 1 FROM @states s WHERE s.item = w.item AND s.token = w.token AND s.state = 1
        FOR UPDATE) s
), extended AS (
    UPDATE @states s SET started = coalesce(h.at, s.started),
        due = CASE WHEN h.is_prolonged THEN greatest(s.due, $5::bigint) ELSE s.due END
    FROM held h WHERE s.item = h.item
)
SELECT item, token FROM held";

pub(crate) async fn extend(
    session: Session<'_>,
    leases: &[LeaseKey],
    started: &[Start],
    until: Timestamp,
) -> PostgresResult<Vec<bool>> {
    let changes = LeaseChanges::new(leases, started, |_| false);
    if changes.item.is_empty() {
        return Ok(vec![false; leases.len()]);
    }
    let until = until.as_micros();
    let values: Values<'_> =
        &[&changes.item, &changes.token, &changes.is_renewed, &changes.at, &until];
    let rows = session.query(EXTEND, values).await?;
    let held = keys(&rows)?;
    Ok(leases.iter().map(|lease| held.contains(lease)).collect())
}
