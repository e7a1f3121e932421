//! The roll-up of the groups over all jobs. A look at it reads a row for each kind of failure and
//! hour; and for the hours that are not over long, one for each shard.

use retry_workflow::Timestamp;

use super::Session;
use crate::server::PostgresResult;

/// The rows of the roll-up, in the shape of groups of a job.
pub(crate) const ROWS: &str = "(SELECT r.*, 0::bigint AS job, 0::bigint AS known FROM @rollup r)";

/// The shard of a single statement: a few connections share it.
pub(crate) const SHARD: &str = "mod(pg_backend_pid(), 16)";

/// The shard of a longer transaction: no other connection uses it, because it would have to wait.
pub(crate) const OWN_SHARD: &str = "16 + mod(pg_backend_pid(), 16384)";

/// Adds the changes of groups in `kinds`, in the order of their keys: so two jobs whose workers
/// have the same shard wait for each other, if at all, but never both.
pub(crate) fn add_sql(shard: &str) -> String {
    format!(
        "INSERT INTO @rollup AS r (alike, hour, state, shard, class, signature, count, first, last) \
         SELECT k.alike, k.hour, k.state, ({shard})::smallint, k.class, k.signature, \
             sum(k.count), min(k.first), max(k.last) \
         FROM kinds k GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3 \
         ON CONFLICT (alike, hour, state, shard) DO UPDATE SET count = r.count + excluded.count, \
             first = least(r.first, excluded.first), last = greatest(r.last, excluded.last)"
    )
}

/// Folds the shards of the hours before `$2`. If another session is already folding, skip. Rows
/// locked by a writer are folded next time. A sum of zero is deleted.
const FOLD: &str = "\
WITH mine AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(8247342681638830080 + to_regclass($1)::oid::bigint) AS is_mine
), gone AS (
    DELETE FROM @rollup r WHERE r.ctid = ANY (ARRAY(
        SELECT o.ctid FROM @rollup o WHERE (SELECT is_mine FROM mine) AND o.shard >= 0
            AND o.hour < $2 FOR UPDATE SKIP LOCKED))
    RETURNING r.*
), sums AS MATERIALIZED (
    SELECT alike, hour, state, class, signature, sum(count)::bigint AS count, min(first) AS first,
        max(last) AS last
    FROM gone GROUP BY alike, hour, state, class, signature
), emptied AS (
    DELETE FROM @rollup r USING sums s
    WHERE r.alike = s.alike AND r.hour = s.hour AND r.state = s.state AND r.shard = -1
        AND r.count + s.count = 0
    RETURNING r.alike, r.hour, r.state
)
INSERT INTO @rollup AS r (alike, hour, state, shard, class, signature, count, first, last)
SELECT alike, hour, state, -1, class, signature, count, first, last FROM sums
WHERE count <> 0 AND (alike, hour, state) NOT IN (SELECT alike, hour, state FROM emptied)
ON CONFLICT (alike, hour, state, shard) DO UPDATE SET count = r.count + excluded.count,
    first = least(r.first, excluded.first), last = greatest(r.last, excluded.last)";

/// Called behind a statement that has added to the roll-up: once an hour, folds what is before it.
pub(crate) async fn fold(session: Session<'_>, now: Timestamp) {
    let hour = now.hour();
    if !session.shared.folds(hour) {
        return;
    }
    let table = session.shared.sql("@rollup");
    let folded: PostgresResult<u64> = session.execute(FOLD, &[&table, &hour.as_micros()]).await;
    // The statement has committed; a failed fold must not cause it to be retried.
    if let Err(error) = folded {
        tracing::debug!(%error, "the roll-up is folded later");
    }
}
