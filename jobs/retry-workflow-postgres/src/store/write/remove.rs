//! Removing a job, item by item.

use retry_workflow::store::sql::{self, limit};

use crate::server::PostgresResult;
use crate::server::text::encode;
use crate::store::session::Session;

/// Once no item is left, the values go as well, and the job counts from 0. Item numbers are never
/// reused: a worker that wakes up late cannot hold a lease of another item.
const REMOVE: &str = "\
WITH gone AS MATERIALIZED (
    SELECT i.item FROM @items i WHERE i.job = $1 ORDER BY i.item LIMIT $2::bigint FOR UPDATE
), items AS (
    DELETE FROM @items i USING gone g WHERE i.job = $1 AND i.item = g.item
), states AS (
    DELETE FROM @states s USING gone g WHERE s.item = g.item
), history AS (
    DELETE FROM @history h USING gone g WHERE h.item = g.item
), failures AS (
    DELETE FROM @failures f USING gone g WHERE f.item = g.item
), counted AS (
    UPDATE @counts c SET @ZEROS
    WHERE c.job = $1 AND (SELECT count(*) FROM gone) < $2
), job AS (
    UPDATE @jobs j SET priorities = 0
    WHERE j.job = $1 AND j.priorities <> 0 AND (SELECT count(*) FROM gone) < $2
), vals AS (
    DELETE FROM @vals v WHERE v.key = ANY ($3::text[]) AND (SELECT count(*) FROM gone) < $2
)
SELECT count(*) FROM gone";

/// No job has this number.
const NO_JOB: i64 = 0;

pub(crate) async fn remove(
    session: Session<'_>,
    job: &str,
    keys: &[String],
    max: usize,
) -> PostgresResult<u64> {
    let job = session.find_job(job).await?.unwrap_or(NO_JOB);
    let keys: Vec<_> = keys.iter().map(|key| encode(key)).collect();
    let zeros = sql::each(&sql::COUNTS, |column| format!("{column} = 0"));
    session.count(&REMOVE.replace("@ZEROS", &zeros), &[&job, &limit(max), &keys]).await
}
