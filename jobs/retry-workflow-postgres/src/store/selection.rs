//! A [`Filter`] as SQL: it selects the same items as [`Filter::wants`], without reading all of
//! them.

use std::fmt::Write as _;

use retry_workflow::store::codes::{DEAD, SKIPPED, codes};
use retry_workflow::store::sql;
use retry_workflow::{Filter, Timestamp};
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
    /// In the order in which they were added.
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

/// A search for items: the index that answers most of the filter.
pub(crate) struct Look {
    table: &'static str,
    conditions: &'static str,
    /// The columns by which the index orders the items.
    columns: &'static [&'static str],
    pub(crate) job: Option<i64>,
    pub(crate) signature: Option<String>,
}

/// The items of a job, as a range. An equality makes the job a constant for the planner, so that it
/// may read the items of all jobs in their order instead of using an index that begins with the
/// job; it does so if there was only one job when the tables were last analysed.
const JOB: &str = "s.job >= $x AND s.job <= $x";

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
        let job = match &filter.job {
            Some(name) => match session.find_job(name).await? {
                Some(job) => Some(job),
                None => return Ok(None),
            },
            None => None,
        };
        let is_empty = filter.ids.as_ref().is_some_and(Vec::is_empty) || codes.is_empty();
        Ok((!is_empty).then(|| Self::new(filter, job, codes)))
    }

    fn new(filter: &Filter, job: Option<i64>, codes: &[i16]) -> Self {
        // If only items with a failure are selected, the join can begin with the failures.
        let by_failure = filter.signature.is_some() || filter.class.is_some();
        let failures = if by_failure { "JOIN" } else { "LEFT JOIN" };
        let codes_text: Vec<_> = codes.iter().map(ToString::to_string).collect();
        let mut wanted = format!("s.state IN ({})", codes_text.join(", "));
        let is_failed = codes.iter().all(|code| *code >= DEAD);
        if is_failed {
            // Word for word the predicate of the index `failed`, or the planner would not use it.
            wanted.push_str(" AND s.state >= 3");
        }
        let signature = filter.signature.as_deref().filter(|_| job.is_some());
        let signature = signature.map(|signature| encode(signature).into_owned());
        let (table, conditions, columns): (_, _, &[_]) = match (job, &signature) {
            (Some(_), Some(_)) => (
                "@failures",
                "(l.job, l.signature, l.item) > ($job, $signature, $after) \
                 AND (l.job, l.signature) <= ($job, $signature)",
                &["job", "signature", "item"],
            ),
            (Some(_), None) if is_failed => (
                "@states",
                "(l.job, l.item) > ($job, $after) AND l.job <= $job AND l.state >= 3 \
                 AND $signature IS NULL",
                &["job", "item"],
            ),
            (Some(_), None) => {
                ("@items", "l.job = $job AND l.item > $after AND $signature IS NULL", &["item"])
            }
            (None, _) => {
                ("@states", "l.item > $after AND $job IS NULL AND $signature IS NULL", &["item"])
            }
        };
        let look =
            filter.ids.is_none().then_some(Look { table, conditions, columns, job, signature });
        let mut values: Vec<Box<dyn ToSql + Sync + Send>> = Vec::new();
        let mut add = |condition: &str, value: Box<dyn ToSql + Sync + Send>| {
            values.push(value);
            let place = format!("${}", values.len());
            let _infallible = write!(wanted, " AND {}", condition.replace("$x", &place));
        };
        if let Some(job) = job {
            add(JOB, Box::new(job));
            if by_failure {
                add("f.job = $x", Box::new(job));
            }
        }
        if let Some(ids) = &filter.ids {
            // By item number: the names are looked up first, job by job.
            let ids: Vec<_> = ids.iter().map(|id| encode(id).into_owned()).collect();
            let jobs = match job {
                Some(_) => "$1".to_owned(),
                None => "ANY (ARRAY(SELECT job FROM @jobs))".to_owned(),
            };
            let numbers = format!(
                "s.item = ANY (ARRAY(SELECT k.item FROM @items k \
                 WHERE k.job = {jobs} AND k.id = ANY ($x::text[])))"
            );
            add(&numbers, Box::new(ids));
        }
        if let Some(signature) = &filter.signature {
            add("f.signature = $x::text", Box::new(encode(signature).into_owned()));
        }
        if let Some(class) = &filter.class {
            let condition = sql::of_class("strpos", "f.class", "$x::text", class);
            add(&condition, Box::new(encode(class).into_owned()));
        }
        let time = |time: Timestamp| Box::new(time.as_micros());
        if let Some(since) = filter.since {
            add("s.ended >= $x::bigint", time(since));
        }
        if let Some(until) = filter.until {
            add("s.ended < $x::bigint", time(until));
        }
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
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}
