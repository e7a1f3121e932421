//! A [`Filter`] as SQL: the same items as [`Filter::wants`], without reading all of them.

use std::fmt::Write as _;

use retry_workflow::{Filter, ItemState, Timestamp};
use tokio_postgres::types::ToSql;

use super::layout::{DEAD, PURGED, SKIPPED, code};
use super::shared::Shared;
use super::text::kept;
use crate::server::{Lent, PostgresError};

/// Which items are meant.
pub(crate) struct Selection {
    /// Begins with `FROM`: states `s`, items `i`, failures `f` where there are any.
    pub(crate) from: String,
    /// In the order in which they were added.
    pub(crate) order: &'static str,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Selection {
    /// `None` if nothing can be meant.
    pub(crate) async fn resolve(
        client: &Lent,
        shared: &Shared,
        filter: &Filter,
    ) -> Result<Option<Self>, PostgresError> {
        let mut codes: Vec<_> = ItemState::ALL
            .into_iter()
            .filter(|state| filter.wants_state(*state))
            .map(code)
            .collect();
        if codes.contains(&SKIPPED) {
            codes.push(PURGED);
        }
        Self::of_states(client, shared, filter, &codes).await
    }

    /// As [`resolve`](Self::resolve), but only dead letters and skipped items that are not purged.
    pub(crate) async fn resolve_failed(
        client: &Lent,
        shared: &Shared,
        filter: &Filter,
    ) -> Result<Option<Self>, PostgresError> {
        let failed = [(ItemState::Dead, DEAD), (ItemState::Skipped, SKIPPED)];
        let codes: Vec<_> = failed
            .into_iter()
            .filter(|(state, _)| filter.wants_state(*state))
            .map(|(_, code)| code)
            .collect();
        Self::of_states(client, shared, filter, &codes).await
    }

    async fn of_states(
        client: &Lent,
        shared: &Shared,
        filter: &Filter,
        codes: &[i16],
    ) -> Result<Option<Self>, PostgresError> {
        let job = match &filter.job {
            Some(name) => match shared.find_job(client, name).await? {
                Some(job) => Some(job),
                None => return Ok(None),
            },
            None => None,
        };
        let is_empty = filter.ids.as_ref().is_some_and(Vec::is_empty) || codes.is_empty();
        Ok((!is_empty).then(|| Self::new(filter, job, codes)))
    }

    fn new(filter: &Filter, job: Option<i64>, codes: &[i16]) -> Self {
        // Where only those with a failure are meant, they are where it begins.
        let by_failure = filter.signature.is_some() || filter.class.is_some();
        let failures = if by_failure { "JOIN" } else { "LEFT JOIN" };
        let codes_text: Vec<_> = codes.iter().map(ToString::to_string).collect();
        let mut from = format!(
            "FROM @states s JOIN @items i ON i.job = s.job AND i.item = s.item \
             {failures} @failures f ON f.item = s.item WHERE s.state IN ({})",
            codes_text.join(", ")
        );
        if codes.iter().all(|code| *code >= DEAD) {
            // In these words, for it is what the index `failed` is of.
            from.push_str(" AND s.state >= 3");
        }
        let mut values: Vec<Box<dyn ToSql + Sync + Send>> = Vec::new();
        let mut add = |condition: &str, value: Box<dyn ToSql + Sync + Send>| {
            values.push(value);
            let place = format!("${}", values.len());
            let _infallible = write!(from, " AND {}", condition.replace("$x", &place));
        };
        if let Some(job) = job {
            add("s.job = $x AND i.job = $x", Box::new(job));
            if by_failure {
                add("f.job = $x", Box::new(job));
            }
        }
        if let Some(ids) = &filter.ids {
            // By their numbers, which are looked up before, job by job.
            let ids: Vec<_> = ids.iter().map(|id| kept(id).into_owned()).collect();
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
            add("f.signature = $x::text", Box::new(kept(signature).into_owned()));
        }
        if let Some(class) = &filter.class {
            let condition = if class.contains('+') {
                "f.class = $x::text"
            } else {
                "strpos('+' || f.class || '+', '+' || $x::text || '+') > 0"
            };
            add(condition, Box::new(kept(class).into_owned()));
        }
        let time = |time: Timestamp| Box::new(time.as_micros());
        if let Some(since) = filter.since {
            add("s.ended >= $x::bigint", time(since));
        }
        if let Some(until) = filter.until {
            add("s.ended < $x::bigint", time(until));
        }
        Self { from, order: "ORDER BY s.item", values }
    }

    /// A further value, and its place in the statement.
    pub(crate) fn add(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}
