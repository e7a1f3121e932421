//! A [`Filter`] as SQL: it selects the same items as [`Filter::wants`], without reading all of
//! them.

use retry_workflow::Filter;
use retry_workflow::store::codes::{DEAD, SKIPPED, codes, partial_index};
use retry_workflow::store::sql;
use tokio_postgres::types::ToSql;

use super::session::Session;
use crate::server::PostgresResult;
use crate::server::text::encode;

/// The items that a filter selects: their states `s`, items `i`, and failures `f` if there are any.
pub(crate) struct FilteredItems {
    /// The join of failures.
    failures: &'static str,
    /// Conditions on `s`, `i` and `f`.
    conditions: String,
    /// Orders items by their numbers, which belong to one job if the filter names one.
    pub(crate) order: &'static str,
    /// The index to search for items; `None` if the filter names them.
    pub(crate) look: Option<Look>,
    values: Values,
}

/// The values of a statement, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Values(Vec<Box<dyn ToSql + Sync + Send>>);

impl Values {
    /// Adds a value, and returns its placeholder.
    pub(crate) fn add(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.0.push(Box::new(value));
        format!("${}", self.0.len())
    }

    pub(crate) fn all(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.0.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}

/// A search for items: the index that answers most of the filter.
pub(crate) struct Look {
    table: &'static str,
    conditions: String,
    /// The columns by which the index orders the items.
    columns: &'static [&'static str],
    pub(crate) job: Option<i64>,
    pub(crate) signature: Option<String>,
}

/// The items of a job, as a range. An equality makes the job a constant for the planner, so that it
/// may read the items of all jobs in their order instead of using an index that begins with the
/// job; it does so if there was only one job when the tables were last analysed.
const JOB: &str = " AND s.job >= $x AND s.job <= $x";

impl Look {
    /// Selects the columns of the index of items after a given one, in order, up to a limit. Takes
    /// the placeholders of job, signature, the number of that item and the limit.
    pub(crate) fn sql(&self, [job, signature, after, most]: [&str; 4]) -> String {
        let Self { table, conditions, .. } = self;
        let columns = self.columns("l");
        let conditions = conditions
            .replace("$job", &format!("{job}::bigint"))
            .replace("$signature", &format!("{signature}::text"))
            .replace("$after", &format!("{after}::bigint"));
        format!(
            "SELECT {columns} FROM {table} l WHERE {conditions} ORDER BY {columns} \
             LIMIT {most}::bigint"
        )
    }

    /// The columns of the index, of a table of this name: what is selected is in their order.
    pub(crate) fn columns(&self, table: &str) -> String {
        let columns: Vec<_> = self.columns.iter().map(|name| format!("{table}.{name}")).collect();
        columns.join(", ")
    }
}

impl FilteredItems {
    /// `None` if no item can match.
    pub(crate) async fn resolve(
        session: Session<'_>,
        filter: &Filter,
    ) -> PostgresResult<Option<Self>> {
        Self::of_states(session, filter, &codes(filter)).await
    }

    /// As [`resolve`](Self::resolve), but only dead letters and skipped items that are not purged.
    pub(crate) async fn resolve_failed(
        session: Session<'_>,
        filter: &Filter,
    ) -> PostgresResult<Option<Self>> {
        let mut codes = codes(filter);
        codes.retain(|code| [DEAD, SKIPPED].contains(code));
        Self::of_states(session, filter, &codes).await
    }

    async fn of_states(
        session: Session<'_>,
        filter: &Filter,
        codes: &[i16],
    ) -> PostgresResult<Option<Self>> {
        let Some(job) = session.job_of(filter).await? else { return Ok(None) };
        let is_empty = filter.ids.as_ref().is_some_and(Vec::is_empty) || codes.is_empty();
        Ok((!is_empty).then(|| Self::new(filter, job, codes)))
    }

    fn new(filter: &Filter, job: Option<i64>, codes: &[i16]) -> Self {
        // If only items with a failure are selected, the join can begin with the failures.
        let by_failure = filter.signature.is_some() || filter.class.is_some();
        let failures = if by_failure { "JOIN" } else { "LEFT JOIN" };
        let codes_text: Vec<_> = codes.iter().map(ToString::to_string).collect();
        let mut wanted = format!("s.state IN ({})", codes_text.join(", "));
        let failed = partial_index(codes);
        if let Some((_, predicate)) = failed {
            // Word for word the predicate of the index, or the planner would not use it.
            wanted = format!("{wanted} AND s.{predicate}");
        }
        let signature = filter.signature.as_deref().filter(|_| job.is_some());
        let signature = signature.map(|signature| encode(signature).into_owned());
        let (table, conditions, columns): (_, _, &[_]) = match (job, &signature, failed) {
            (Some(_), Some(_), _) => (
                "@failures",
                "(l.job, l.signature, l.item) > ($job, $signature, $after) \
                 AND (l.job, l.signature) <= ($job, $signature)"
                    .to_owned(),
                &["job", "signature", "item"],
            ),
            (Some(_), None, Some((_, predicate))) => (
                "@states",
                format!(
                    "(l.job, l.item) > ($job, $after) AND l.job <= $job AND l.{predicate} \
                     AND $signature IS NULL"
                ),
                &["job", "item"],
            ),
            (Some(_), None, None) => {
                let of_job = "l.job = $job AND l.item > $after AND $signature IS NULL";
                ("@items", of_job.to_owned(), &["item"])
            }
            (None, ..) => {
                let of_all = "l.item > $after AND $job IS NULL AND $signature IS NULL";
                ("@states", of_all.to_owned(), &["item"])
            }
        };
        let look =
            filter.ids.is_none().then_some(Look { table, conditions, columns, job, signature });
        let mut values = Values::default();
        if let Some(job) = job {
            let job = values.add(job);
            let of_failure = if by_failure { " AND f.job = $x" } else { "" };
            wanted.push_str(&[JOB, of_failure].concat().replace("$x", &job));
        }
        if let Some(ids) = &filter.ids {
            wanted.push_str(&of_ids("s", job, ids, &mut values));
        }
        wanted.push_str(&of_failure(filter, "s.ended", &mut values));
        let order = if job.is_some() { "ORDER BY s.job, s.item" } else { "ORDER BY s.item" };
        Self { failures, conditions: wanted, order, look, values }
    }

    /// `FROM` and `WHERE`.
    pub(crate) fn clauses(&self) -> String {
        self.joined("@states s", "@failures f ON f.item = s.item")
    }

    /// As [`clauses`](Self::clauses), but only the items `w` of `looked_at`. Each of them is looked
    /// up by its own key, whatever the planner believes about tables that have grown since they
    /// were last analysed: it does not look through `OFFSET 0`.
    pub(crate) fn clauses_for_each_of(&self, looked_at: &str) -> String {
        let own = |table: &str, item: &str| {
            format!("LATERAL (SELECT * FROM {table} o WHERE o.item = {item} OFFSET 0)")
        };
        let states = format!("({looked_at}) w CROSS JOIN {} s", own("@states", "w.item"));
        self.joined(&states, &format!("{} f ON true", own("@failures", "s.item")))
    }

    fn joined(&self, states: &str, of_item: &str) -> String {
        let Self { failures, conditions, .. } = self;
        format!(
            "FROM {states} JOIN @items i ON i.job = s.job AND i.item = s.item \
             {failures} {of_item} WHERE {conditions}"
        )
    }

    /// Adds a value, and returns its placeholder.
    pub(crate) fn add(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.add(value)
    }

    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.all()
    }
}

/// Returns the condition that a table has items with these ids, of a job or of any job.
pub(crate) fn of_ids(table: &str, job: Option<i64>, ids: &[String], values: &mut Values) -> String {
    // By item number: the names are looked up first, job by job.
    let jobs = match job {
        Some(job) => values.add(job),
        None => "ANY (ARRAY(SELECT job FROM @jobs))".to_owned(),
    };
    let ids: Vec<_> = ids.iter().map(|id| encode(id).into_owned()).collect();
    let ids = values.add(ids);
    format!(
        " AND {table}.item = ANY (ARRAY(SELECT k.item FROM @items k \
         WHERE k.job = {jobs} AND k.id = ANY ({ids}::text[])))"
    )
}

/// Returns the conditions of a filter on failures `f`, and on the column in which items end.
pub(crate) fn of_failure(filter: &Filter, ended: &str, values: &mut Values) -> String {
    let mut conditions = Vec::new();
    if let Some(signature) = &filter.signature {
        let signature = values.add(encode(signature).into_owned());
        conditions.push(format!(" AND f.signature = {signature}::text"));
    }
    if let Some(class) = &filter.class {
        let place = format!("{}::text", values.add(encode(class).into_owned()));
        conditions.push(format!(" AND {}", sql::of_class("strpos", "f.class", &place, class)));
    }
    if let Some(since) = filter.since {
        conditions.push(format!(" AND {ended} >= {}::bigint", values.add(since.as_micros())));
    }
    if let Some(until) = filter.until {
        conditions.push(format!(" AND {ended} < {}::bigint", values.add(until.as_micros())));
    }
    conditions.concat()
}
