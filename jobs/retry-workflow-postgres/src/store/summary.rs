//! The summaries: failures that are alike, by hour, what ended in each minute, and how long
//! attempts took. Each statement that changes items updates them, in the shard of its connection,
//! as it does the counts.

pub(crate) mod durations;
pub(crate) mod rollup;

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream as _;
use retry_workflow::store::codes::codes;
use retry_workflow::store::{Group, HourCount, Minute, sql};
use retry_workflow::{Failure, Filter, ItemRecord, Timestamp};

use super::layout::SHARDS;
use super::session::{Session, Values};
use crate::server::PostgresResult;
use crate::server::columns::{column, columns, read_json, text, unsigned};
use crate::server::text::encode;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Parts of a `WITH` that add the failures of `source` to the groups: `job`, `state`, `class`,
/// `signature`, `ended`, `item`. The key has a digest of class and signature, because a class may
/// be too long for an index.
pub(crate) fn add_to_groups_sql(source: &str) -> String {
    changed(source, "count(*)", ADDED, rollup::SHARD)
}

/// As [`add_to_groups_sql`], in a transaction of several statements.
pub(crate) fn import_to_groups_sql(source: &str) -> String {
    changed(source, "count(*)", ADDED, rollup::OWN_SHARD)
}

/// Parts of a `WITH` that take the failures of `source` out of the groups.
pub(crate) fn remove_from_groups_sql(source: &str) -> String {
    let nothing =
        "9223372036854775807 AS first, -9223372036854775807 AS last, NULL::bigint AS item";
    changed(source, "-count(*)", nothing, rollup::SHARD)
}

const ADDED: &str = "min(w.ended) AS first, max(w.ended) AS last, min(w.item) AS item";

fn changed(source: &str, count: &str, rest: &str, shard: &str) -> String {
    let hour = sql::hour("w.ended");
    format!(
        "kinds AS MATERIALIZED (\
             SELECT w.job, {ALIKE} AS alike, {hour} AS hour, w.state, w.class, w.signature, \
                 {count} AS count, {rest} \
             FROM {source} w WHERE w.ended IS NOT NULL \
             GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4), \
         grouped AS (\
             INSERT INTO @groups AS g \
                 (job, alike, hour, state, shard, class, signature, count, first, last, example) \
             SELECT k.job, k.alike, k.hour, k.state, mod(pg_backend_pid(), {SHARDS}), \
                 k.class, k.signature, k.count, k.first, k.last, k.item \
             FROM kinds k \
             ON CONFLICT (job, alike, hour, state, shard) DO UPDATE SET \
                 count = g.count + excluded.count, first = least(g.first, excluded.first), \
                 last = greatest(g.last, excluded.last), \
                 example = least(g.example, excluded.example)), \
         rolled AS ({})",
        rollup::add_sql(shard)
    )
}

const ALIKE: &str = "md5(octet_length(w.class) || ':' || w.class || w.signature)::uuid";

/// Adds the rows of `source` to the minutes: `job`, `minute`, `succeeded`, `dead`, `skipped`,
/// `attempts`, `failed`, one for each job and minute.
pub(crate) fn add_to_minutes_sql(source: &str) -> String {
    format!(
        "INSERT INTO @minutes AS m (job, minute, shard, {}) \
         SELECT w.job, w.minute, mod(pg_backend_pid(), 16)::smallint, {} \
         FROM {source} w WHERE w.succeeded + w.dead + w.skipped + w.attempts > 0 \
         ORDER BY 1, 2 ON CONFLICT (job, minute, shard) DO UPDATE SET {}",
        sql::MINUTE.join(", "),
        sql::each(&sql::MINUTE, |column| format!("w.{column}")),
        sql::each(&sql::MINUTE, |column| format!("{column} = m.{column} + excluded.{column}")),
    )
}

/// The groups that a filter selects, the largest first.
pub(crate) async fn groups(session: Session<'_>, filter: &Filter) -> PostgresResult<Vec<Group>> {
    let states: Vec<_> = codes(filter);
    let job = match &filter.job {
        Some(name) => match session.find_job(name).await? {
            Some(job) => Some(job),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let class = filter.class.as_deref().map(encode);
    let signature = filter.signature.as_deref().map(encode);
    let of_class =
        sql::of_class("strpos", "g.class", "$3::text", filter.class.as_deref().unwrap_or_default());
    let (rows, of_job) = match job {
        Some(_) => ("(SELECT n.*, n.example AS known FROM @groups n)", "g.job = $2::bigint"),
        None => (rollup::ROWS, "$2::bigint IS NULL"),
    };
    // The rows as they are, and added up here: the server would sort them all for groups with
    // hours.
    let sql = format!(
        "SELECT uuid_send(g.alike), g.job, g.hour, g.count, g.first, g.last, coalesce(g.known, 0) \
         FROM {rows} g WHERE {of_job} AND g.state = ANY ($1::smallint[]) \
             AND ($3::text IS NULL OR {of_class}) \
             AND ($4::text IS NULL OR g.signature = $4::text)"
    );
    let values: Values<'_> = &[&states, &job, &class, &signature];
    let mut rows = pin!(session.stream(&sql, values).await?);
    let mut found = HashMap::<Vec<u8>, Shares>::new();
    while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
        let row = row?;
        let alike: &[u8] = row.try_get(0)?;
        if let Some(shares) = found.get_mut(alike) {
            shares.add(&row)?;
        } else {
            found.entry(alike.to_owned()).or_default().add(&row)?;
        }
    }
    let sums: Vec<Sum> =
        found.into_iter().filter_map(|(alike, shares)| Sum::new(alike, &shares)).collect();
    let alike: Vec<_> = sums.iter().map(|sum| sum.alike.as_slice()).collect();
    let sql = examples_sql(job.is_some());
    let rows = if job.is_some() {
        let jobs: Vec<_> = sums.iter().map(|sum| sum.job).collect();
        let examples: Vec<_> = sums.iter().map(|sum| sum.example).collect();
        session.query(&sql, &[&states, &alike, &jobs, &examples]).await?
    } else {
        let hours: Vec<_> = sums.iter().map(|sum| sum.hour).collect();
        session.query(&sql, &[&states, &alike, &hours]).await?
    };
    let mut groups = Vec::with_capacity(rows.len());
    for row in &rows {
        let place = usize::try_from(column::<i64>(row, 0)?).unwrap_or(0);
        let Some(sum) = place.checked_sub(1).and_then(|place| sums.get(place)) else { continue };
        let failure: Failure = read_json(&column::<String>(row, 2)?)?;
        let mut group = Group::new(&failure, text(row, 1)?, sum.first);
        group.count = sum.hours.iter().fold(0, |all, hour| all.saturating_add(hour.count));
        group.last = sum.last;
        group.hours.clone_from(&sum.hours);
        groups.push(group);
    }
    // Groups of equal size are in the order of their names.
    groups.sort_by(|one, other| {
        let by_class = other.count.cmp(&one.count).then_with(|| one.class.cmp(&other.class));
        by_class.then_with(|| one.signature.cmp(&other.signature))
    });
    Ok(groups)
}

/// Finds an item of each group in `$2`, in the states `$1`: of the job in `$3`, the example in
/// `$4`; or, over all jobs, one that ended in the hour in `$3`, or else before. If it was
/// re-driven, it is any other item of the same job.
fn examples_sql(is_of_job: bool) -> String {
    let (values, names, of) = if is_of_job {
        (
            ", $3::bigint[], $4::bigint[]",
            ", job, example",
            "SELECT n.job, n.class, n.signature, w.example FROM @groups n \
             WHERE n.job = w.job AND n.alike = w.alike LIMIT 1",
        )
    } else {
        // In the order of the index, so that it ends at the first one. Rows whose items have all
        // been re-driven are passed by, without a look for an item.
        (
            ", $3::bigint[]",
            ", hour",
            "SELECT n.job, min(n.class) AS class, min(n.signature) AS signature, \
                 min(n.example) AS example \
             FROM @groups n \
             WHERE n.alike = w.alike AND n.hour <= w.hour AND n.state = ANY ($1::smallint[]) \
             GROUP BY n.hour, n.job HAVING sum(n.count) > 0 ORDER BY n.hour DESC, n.job DESC",
        )
    };
    let example = "SELECT f.item, f.failure FROM @failures f JOIN @states s ON s.item = f.item \
                   WHERE s.state = ANY ($1::smallint[]) AND f.job = g.job \
                   AND f.signature = g.signature AND f.class = g.class";
    format!(
        "SELECT w.place, e.id, e.failure \
         FROM (SELECT u.*, encode(u.digest, 'hex')::uuid AS alike FROM \
             unnest($2::bytea[]{values}) WITH ORDINALITY AS u(digest{names}, place)) w \
         CROSS JOIN LATERAL (SELECT i.id, x.failure FROM ({of}) g \
             CROSS JOIN LATERAL (({example} AND f.item = g.example) UNION ALL ({example} LIMIT 1) \
                 LIMIT 1) x \
             JOIN @items i ON i.job = g.job AND i.item = x.item LIMIT 1) e"
    )
}

/// A group whose example is not known yet.
struct Sum {
    alike: Vec<u8>,
    first: Timestamp,
    last: Timestamp,
    hours: Vec<HourCount>,
    /// The last hour, its job, and the example there.
    hour: i64,
    job: i64,
    example: i64,
}

/// One job's share of an hour.
struct OfHour {
    count: i64,
    first: i64,
    last: i64,
    /// 0 if none is known.
    example: i64,
}

/// The shares of a group, by hour, then by job.
#[derive(Default)]
struct Shares(BTreeMap<(i64, i64), OfHour>);

impl Shares {
    /// Adds a row of a shard, which may be negative by itself.
    fn add(&mut self, row: &Row) -> PostgresResult<()> {
        let key = (column(row, 2)?, column(row, 1)?);
        let none = OfHour { count: 0, first: i64::MAX, last: i64::MIN, example: 0 };
        let sum = self.0.entry(key).or_insert(none);
        let count: i64 = column(row, 3)?;
        sum.count = sum.count.saturating_add(count);
        if count > 0 {
            sum.first = sum.first.min(column(row, 4)?);
            sum.last = sum.last.max(column(row, 5)?);
        }
        let example = column(row, 6)?;
        if sum.example == 0 || (1..sum.example).contains(&example) {
            sum.example = example;
        }
        Ok(())
    }
}

impl Sum {
    /// `None` if nothing is left of the group.
    fn new(alike: Vec<u8>, shares: &Shares) -> Option<Self> {
        let sums = || shares.0.iter().filter(|(_, sum)| sum.count > 0);
        let (&(hour, job), &OfHour { example, .. }) = sums().next_back()?;
        let first = sums().map(|(_, sum)| sum.first).min()?;
        let last = sums().map(|(_, sum)| sum.last).max()?;
        let (hours, counts): (Vec<_>, Vec<_>) =
            sums().map(|((hour, _), sum)| (*hour, sum.count)).unzip();
        Some(Self {
            alike,
            first: Timestamp::from_micros(first),
            last: Timestamp::from_micros(last),
            hours: self::hours(&hours, &counts),
            hour,
            job,
            example,
        })
    }
}

/// A group, from a row with its count, first and last, the example and its failure, and its hours.
pub(crate) fn group(row: &Row) -> PostgresResult<Group> {
    let failure: Failure = read_json(&column::<String>(row, 4)?)?;
    let first = Timestamp::from_micros(column(row, 1)?);
    let mut group = Group::new(&failure, text(row, 3)?, first);
    group.count = unsigned(row, 0)?;
    group.last = Timestamp::from_micros(column(row, 2)?);
    group.hours = hours(&column::<Vec<i64>>(row, 5)?, &column::<Vec<i64>>(row, 6)?);
    Ok(group)
}

/// Returns how many items ended in each hour, in order; counts of several jobs for the same hour
/// are added up.
fn hours(hours: &[i64], counts: &[i64]) -> Vec<HourCount> {
    let mut all: Vec<HourCount> = Vec::new();
    for (&hour, count) in hours.iter().zip(counts) {
        let count = count.unsigned_abs();
        match all.last_mut().filter(|last| last.hour.as_micros() == hour) {
            Some(last) => last.count += count,
            None => all.push(HourCount::new(Timestamp::from_micros(hour), count)),
        }
    }
    all
}

/// Returns the minutes of a job, from the minute of `since` on.
pub(crate) async fn minutes(
    session: Session<'_>,
    job: &str,
    since: Timestamp,
) -> PostgresResult<Vec<Minute>> {
    let Some(job) = session.find_job(job).await? else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT minute, {} FROM @minutes WHERE job = $1 AND minute >= $2 \
         GROUP BY minute ORDER BY minute",
        sql::each(&sql::MINUTE, |column| format!("sum({column})::bigint"))
    );
    let rows = session.query(&sql, &[&job, &since.minute().as_micros()]).await?;
    rows.iter().map(|row| sql::minute(&mut columns(row))).collect()
}

/// The minutes of imported items.
#[derive(Debug, Default)]
pub(crate) struct Minutes(BTreeMap<(i64, Timestamp), Minute>);

impl Minutes {
    fn of(&mut self, job: i64, time: Timestamp) -> &mut Minute {
        let minute = time.minute();
        self.0.entry((job, minute)).or_insert_with(|| Minute::new(minute))
    }

    /// Counts the end of an item and its attempts.
    pub(crate) fn add(&mut self, job: i64, item: &ItemRecord) {
        for row in item.history.iter().filter(|row| row.outcome.is_counted()) {
            self.of(job, row.started + row.duration).tried(row);
        }
        if let Some(ended) = item.ended {
            self.of(job, ended).ended(item.state);
        }
    }

    pub(crate) async fn write(&self, session: Session<'_>) -> PostgresResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let jobs: Vec<_> = self.0.keys().map(|(job, _)| *job).collect();
        let minutes: Vec<_> = self.0.keys().map(|(_, minute)| minute.as_micros()).collect();
        let mut counts: [Vec<i64>; sql::MINUTE.len()] = Default::default();
        for minute in self.0.values() {
            for (column, count) in counts.iter_mut().zip(sql::values_of_minute(minute)) {
                column.push(count);
            }
        }
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&jobs, &minutes];
        values.extend(counts.iter().map(|column| column as &(dyn ToSql + Sync)));
        let arrays: Vec<_> = (1..=values.len()).map(|at| format!("${at}::bigint[]")).collect();
        let sql = add_to_minutes_sql(&format!(
            "(SELECT * FROM unnest({}) AS u(job, minute, {}))",
            arrays.join(", "),
            sql::MINUTE.join(", "),
        ));
        session.execute(&sql, &values).await?;
        Ok(())
    }
}
