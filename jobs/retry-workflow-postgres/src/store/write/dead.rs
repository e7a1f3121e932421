//! Dead letters: re-driven, purged; and pending items: made due, skipped.

use std::sync::LazyLock;
use std::time::Duration;

use retry_workflow::store::Waiting;
use retry_workflow::{Failure, Filter, Timestamp};

use super::settle::{counted, json};
use crate::server::PostgresResult;
use crate::server::columns::{limit, micros};
use crate::server::text::encode;
use crate::store::layout::CLAIM_RANKS;
use crate::store::selection::FilteredItems;
use crate::store::session::Session;

/// Removes the failures of the items in `meant`, and moves the items to the counts in `@TO`.
const MOVED: &str = "\
gone AS (
    DELETE FROM @failures f USING meant m WHERE f.item = m.item
), counted AS (
    @COUNTED
    FROM (SELECT job, 0 AS leased, 0 AS succeeded, -count(*) FILTER (WHERE state = 3) AS dead,
            @TO, 0 AS attempts, 0 AS lost, 0 AS worked, 0 AS waited
        FROM meant GROUP BY job) n
    @HERE
)
SELECT count(*) FROM meant";

#[expect(clippy::ref_option, reason = "arguments are borrowed from those of a repeated call")]
pub(crate) async fn redrive(
    session: Session<'_>,
    filter: &Filter,
    by: &Option<String>,
    max: Option<u64>,
    now: Timestamp,
    every: Duration,
) -> PostgresResult<u64> {
    let selection = FilteredItems::resolve_failed(session, filter).await?;
    let Some(mut selection) = selection else { return Ok(0) };
    let user = match by {
        Some(user) => Some(session.worker(user).await?),
        None => None,
    };
    let max = selection.add(limit(max.and_then(|max| max.try_into().ok()).unwrap_or(usize::MAX)));
    let now = selection.add(now.as_micros());
    let every = selection.add(micros(every));
    let user = selection.add(user);
    let moved =
        MOVED.replace("@TO", "count(*) AS pending, -count(*) FILTER (WHERE state = 4) AS skipped");
    let (clauses, order) = (selection.clauses(), selection.order);
    let sql = format!(
        "WITH meant AS MATERIALIZED (\
             SELECT s.item, s.job, s.state {clauses} {order} LIMIT {max}::bigint FOR UPDATE OF s), \
         placed AS MATERIALIZED (\
             SELECT item, row_number() OVER (ORDER BY item) - 1 AS place FROM meant), \
         moved AS (\
             UPDATE @states s SET state = 0, attempt = 0, lost = 0, dropped = 0, \
                 claim_rank = s.claim_rank & -4, \
                 run = least(s.run + 1, 4294967295), ended = NULL, checkpoint = NULL, \
                 due = least({now}::bigint + least(p.place::numeric * {every}::bigint, \
                     9223372036854775807), 9223372036854775807)::bigint, \
                 token = s.token + ({user}::bigint IS NOT NULL)::integer \
             FROM placed p WHERE s.item = p.item RETURNING s.item, s.token, s.run), \
         noted AS (\
             INSERT INTO @history (item, token, run, attempt, started, duration, wait, worker, \
                 part, outcome) \
             SELECT item, token, run, 0, {now}::bigint, 0, 0, {user}::bigint, 0, 4 FROM moved \
             WHERE {user}::bigint IS NOT NULL), {}",
        counted(&moved)
    );
    session.count(&sql, &selection.values()).await
}

pub(crate) async fn purge(session: Session<'_>, filter: &Filter) -> PostgresResult<u64> {
    let selection = FilteredItems::resolve_failed(session, filter).await?;
    let Some(selection) = selection else { return Ok(0) };
    let moved = MOVED.replace("@TO", "0 AS pending, count(*) FILTER (WHERE state = 3) AS skipped");
    let (clauses, order) = (selection.clauses(), selection.order);
    let sql = format!(
        "WITH meant AS MATERIALIZED (SELECT s.item, s.job, s.state {clauses} {order} FOR UPDATE OF s), \
         moved AS (UPDATE @states s SET state = 5 FROM meant m WHERE s.item = m.item), \
         emptied AS (UPDATE @items i SET payload = '' FROM meant m \
             WHERE i.job = m.job AND i.item = m.item), \
         forgotten AS (DELETE FROM @history h USING meant m WHERE h.item = m.item), {}",
        counted(&moved)
    );
    session.count(&sql, &selection.values()).await
}

/// Items that wait for a limit are those that are pending, have been claimed, and have no worker.
const MAKE_DUE: &str = "\
WITH meant AS MATERIALIZED (
    SELECT s.item FROM @states s
    WHERE s.job = $1 AND s.claim_rank = ANY (@CLAIM_RANKS) AND s.due > $2::bigint AND s.state = 0
        AND ($4::boolean OR s.claim_rank & 3 <> 0 AND s.worker IS NULL)
    LIMIT $3::bigint FOR UPDATE
), moved AS (
    UPDATE @states s SET due = $2::bigint FROM meant m WHERE s.item = m.item
)
SELECT count(*) FROM meant";

static MAKE_DUE_SQL: LazyLock<String> =
    LazyLock::new(|| MAKE_DUE.replace("@CLAIM_RANKS", &CLAIM_RANKS));

pub(crate) async fn make_due(
    session: Session<'_>,
    job: &str,
    which: Waiting,
    max: usize,
    now: Timestamp,
) -> PostgresResult<u64> {
    let Some(job) = session.find_job(job).await? else { return Ok(0) };
    let are_all = which == Waiting::All;
    session.count(&MAKE_DUE_SQL, &[&job, &now.as_micros(), &limit(max), &are_all]).await
}

const SKIP: &str = "\
WITH meant AS MATERIALIZED (
    SELECT s.item FROM @states s
    WHERE s.job = $1 AND s.claim_rank = ANY (@CLAIM_RANKS) AND s.due IS NOT NULL AND s.state = 0 LIMIT $2::bigint FOR UPDATE
), skipped AS (
    UPDATE @states s SET state = 4, due = NULL, ended = $3::bigint, lost = 0, dropped = 0,
        claim_rank = s.claim_rank & -4, checkpoint = NULL
    FROM meant m WHERE s.item = m.item
), failed AS (
    INSERT INTO @failures (item, job, ended, state, class, signature, failure)
    SELECT item, $1, $3::bigint, 4, $4::text, $5::text, $6::text FROM meant
), counted AS (
    UPDATE @counts c SET pending = c.pending - n.items, skipped = c.skipped + n.items
    FROM (SELECT count(*) AS items FROM meant) n
    WHERE c.job = $1 AND c.shard = mod(pg_backend_pid(), 16)::smallint AND n.items > 0
)
SELECT count(*) FROM meant";

static SKIP_SQL: LazyLock<String> = LazyLock::new(|| SKIP.replace("@CLAIM_RANKS", &CLAIM_RANKS));

pub(crate) async fn skip(
    session: Session<'_>,
    job: &str,
    why: &Failure,
    max: usize,
    now: Timestamp,
) -> PostgresResult<u64> {
    let Some(job) = session.find_job(job).await? else { return Ok(0) };
    let (class, signature) = (encode(&why.class), encode(why.signature.as_str()));
    let (max, now, why) = (limit(max), now.as_micros(), json(why)?);
    session.count(&SKIP_SQL, &[&job, &max, &now, &class, &signature, &why]).await
}

pub(crate) async fn edit(
    session: Session<'_>,
    job: &str,
    id: &str,
    payload: &str,
) -> PostgresResult<bool> {
    let Some(job) = session.find_job(job).await? else { return Ok(false) };
    let changed = session
        .execute(
            "WITH meant AS MATERIALIZED (\
                 SELECT s.item FROM @items i JOIN @states s ON s.item = i.item \
                 WHERE i.job = $1 AND i.id = $2 AND s.state IN (3, 4) FOR UPDATE OF s) \
             UPDATE @items i SET payload = $3 FROM meant m WHERE i.job = $1 AND i.item = m.item",
            &[&job, &encode(id), &encode(payload)],
        )
        .await?;
    Ok(changed == 1)
}
