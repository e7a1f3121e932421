//! The durations of attempts: the numbers that a settlement or an import adds to the table, in the
//! shard of its connection, and the reading of the table.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use retry_workflow::store::{Durations, Histogram, MAX_STEPS, OTHER_STEPS, Settlement};
use retry_workflow::{ItemRecord, Timestamp};

use crate::server::PostgresResult;
use crate::server::columns::{column, text, unsigned};
use crate::server::text::encode;
use crate::store::session::{Session, Values};

/// Adds the rows of `source` to the durations: `job`, `minute`, `step`, `bucket`, `count`, one for
/// each combination of the first four. Once a minute has as many steps as are kept apart, further
/// ones are added up.
pub(crate) fn add_sql(source: &str) -> String {
    add_placed_sql(&placed(source))
}

/// Like [`add_sql`], for rows without a step.
pub(crate) fn add_unnamed_sql(source: &str) -> String {
    add_placed_sql(&format!("SELECT w.job, w.minute, w.step, w.bucket, w.count FROM {source} w"))
}

fn add_placed_sql(placed: &str) -> String {
    format!(
        "INSERT INTO @durations AS d (job, minute, shard, step, bucket, count) \
         SELECT p.job, p.minute, mod(pg_backend_pid(), 16)::smallint, p.step, p.bucket, p.count \
         FROM ({placed}) p ORDER BY p.job, p.minute, p.step, p.bucket \
         ON CONFLICT (job, minute, shard, step, bucket) DO UPDATE SET \
             count = d.count + excluded.count"
    )
}

/// The rows of `source`, with the step that each counts as.
fn placed(source: &str) -> String {
    let in_minute = "k.job = w.job AND k.minute = w.minute \
                     AND k.shard = mod(pg_backend_pid(), 16)::smallint";
    format!(
        "SELECT n.job, n.minute, n.step, n.bucket, sum(n.count)::bigint AS count \
         FROM (SELECT w.job, w.minute, w.bucket, w.count, \
                 CASE WHEN w.is_known OR dense_rank() OVER (PARTITION BY w.job, w.minute, w.is_known \
                     ORDER BY w.step) + (SELECT count(DISTINCT k.step) FROM @durations k \
                         WHERE {in_minute} AND k.step NOT IN ('', '{OTHER_STEPS}')) <= {MAX_STEPS} \
                 THEN w.step ELSE '{OTHER_STEPS}' END AS step \
             FROM (SELECT w.*, w.step IN ('', '{OTHER_STEPS}') OR EXISTS (\
                     SELECT 1 FROM @durations k WHERE {in_minute} AND k.step = w.step) AS is_known \
                 FROM {source} w) w) n \
         GROUP BY 1, 2, 3, 4"
    )
}

/// The sums that settlements add, and the sums in which each attempt counts. If all settlements
/// take effect and belong to one job, as a worker's do, the server uses only the sums; otherwise it
/// adds up the attempts of the settlements that took effect.
#[derive(Default)]
pub(crate) struct Sums<'a> {
    /// By column: how many attempts at a step are in a bucket.
    pub(crate) step: Vec<Cow<'a, str>>,
    pub(crate) bucket: Vec<i16>,
    pub(crate) count: Vec<i64>,
    /// For each attempt, the place of its settlement and the place of its sum, both from 1 on.
    pub(crate) place: Vec<i64>,
    pub(crate) sum: Vec<i32>,
    /// Set if any step has a name.
    pub(crate) has_names: bool,
}

impl<'a> Sums<'a> {
    pub(crate) fn new(settlements: &[&'a Settlement]) -> Self {
        let (mut sums, mut known, mut names) = (Self::default(), HashMap::new(), HashSet::new());
        for (place, settlement) in (1..).zip(settlements) {
            for (step, took) in settlement.took() {
                let mut step = Durations::kept_name(step).unwrap_or_default();
                if !names.contains(step) {
                    if names.len() < MAX_STEPS {
                        names.insert(step);
                    } else if !step.is_empty() {
                        step = OTHER_STEPS;
                    }
                }
                sums.has_names |= !step.is_empty();
                let bucket = Histogram::bucket_of(took);
                let at = *known.entry((step, bucket)).or_insert_with(|| {
                    sums.step.push(encode(step));
                    sums.bucket.push(i16::try_from(bucket).unwrap_or(i16::MAX));
                    sums.count.push(0);
                    sums.count.len()
                });
                if let Some(count) = at.checked_sub(1).and_then(|at| sums.count.get_mut(at)) {
                    *count += 1;
                }
                sums.place.push(place);
                sums.sum.push(i32::try_from(at).unwrap_or(i32::MAX));
            }
        }
        sums
    }
}

/// Durations of imported items, by the minute in which each attempt ended.
#[derive(Debug, Default)]
pub(crate) struct ImportedDurations(BTreeMap<(i64, Timestamp), Durations>);

impl ImportedDurations {
    /// Counts the attempts of an item.
    pub(crate) fn add(&mut self, job: i64, item: &ItemRecord) {
        for row in item.history.iter().filter(|row| row.outcome.is_counted()) {
            let minute = (row.started + row.duration).minute();
            self.0.entry((job, minute)).or_default().tried(row);
        }
    }

    pub(crate) async fn write(&self, session: Session<'_>) -> PostgresResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let (mut jobs, mut minutes, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let (mut buckets, mut counts) = (Vec::new(), Vec::new());
        for ((job, minute), durations) in &self.0 {
            for one in durations.steps() {
                for (bucket, count) in one.took.buckets() {
                    jobs.push(*job);
                    minutes.push(minute.as_micros());
                    steps.push(encode(one.step.as_deref().unwrap_or_default()));
                    buckets.push(i16::try_from(bucket).unwrap_or(i16::MAX));
                    counts.push(i64::try_from(count).unwrap_or(i64::MAX));
                }
            }
        }
        let sql = add_sql(
            "(SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::smallint[], \
             $5::bigint[]) AS u(job, minute, step, bucket, count))",
        );
        let values: Values<'_> = &[&jobs, &minutes, &steps, &buckets, &counts];
        session.execute(&sql, values).await?;
        Ok(())
    }
}

/// Returns how long attempts of a job took, from the minute of `since` on.
pub(crate) async fn durations(
    session: Session<'_>,
    job: &str,
    since: Timestamp,
) -> PostgresResult<Durations> {
    let mut durations = Durations::new();
    let Some(job) = session.find_job(job).await? else { return Ok(durations) };
    let sql = "SELECT step, bucket, sum(count)::bigint FROM @durations \
               WHERE job = $1 AND minute >= $2 GROUP BY step, bucket ORDER BY step, bucket";
    for row in session.query(sql, &[&job, &since.minute().as_micros()]).await? {
        let bucket = usize::try_from(column::<i16>(&row, 1)?).unwrap_or(usize::MAX);
        durations.add_to(Some(&text(&row, 0)?), bucket, unsigned(&row, 2)?);
    }
    Ok(durations)
}
