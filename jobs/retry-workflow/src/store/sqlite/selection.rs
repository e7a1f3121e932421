//! A [`Filter`] as SQL: it selects the same items as [`Filter::wants`], without reading all of
//! them.

use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{Result, params_from_iter};

use super::transaction::Transaction;
use crate::item::record::Filter;
use crate::store::MAX_ROWS_SCANNED;
use crate::store::codes::{DEAD, SKIPPED, codes, partial_index};
use crate::store::sql::{self, limit};

/// The items that a filter selects.
pub(super) struct FilteredItems {
    /// The conditions that an index answers, which determine the rows to look at.
    found_by: String,
    /// The other conditions.
    conditions: String,
    values: Values,
}

/// The values of a statement.
#[derive(Default)]
pub(super) struct Values(pub(super) Vec<Value>);

impl Values {
    /// Adds a value, and returns its placeholder.
    pub(super) fn add(&mut self, value: impl Into<Value>) -> String {
        self.0.push(value.into());
        format!("?{}", self.0.len())
    }
}

/// The states `s` of items, and their failures `f` if there are any.
const TABLES: &str = "states s LEFT JOIN failures f ON f.item = s.item";

/// The place of the number after which items are selected, in [`FilteredItems::values`].
const AFTER: usize = 0;

impl FilteredItems {
    /// `None` if no item can match.
    pub(super) fn resolve(tx: &mut Transaction<'_>, filter: &Filter) -> Result<Option<Self>> {
        // More of them are soon met among all items.
        Self::with_alike(tx, filter, MAX_ROWS_SCANNED)
    }

    /// As [`resolve`](Self::resolve), but only dead letters and skipped items that are not purged.
    pub(super) fn resolve_failed(
        tx: &mut Transaction<'_>,
        filter: &Filter,
    ) -> Result<Option<Self>> {
        let mut selection = Self::with_alike(tx, filter, usize::MAX)?;
        if let Some(selection) = &mut selection {
            selection.found_by.push_str(" AND s.state >= 3");
            let failed = format!(" AND s.state IN ({DEAD}, {SKIPPED})");
            selection.conditions.push_str(&failed);
        }
        Ok(selection)
    }

    /// Looks the items with the filter's signature up, if there are no more than `most`.
    fn with_alike(tx: &mut Transaction<'_>, filter: &Filter, most: usize) -> Result<Option<Self>> {
        let Some(job) = tx.job_of(filter)? else { return Ok(None) };
        let numbers = match (&filter.ids, job, &filter.signature) {
            (Some(ids), ..) => Some(find_all(tx, job, ids)?),
            (None, Some(job), Some(signature)) => find_alike(tx, job, signature, most)?,
            _ => None,
        };
        Ok(Some(Self::new(filter, job, numbers.as_deref())))
    }

    fn new(filter: &Filter, job: Option<i64>, numbers: Option<&[i64]>) -> Self {
        let mut values = Values::default();
        let after = values.add(0);
        let mut conditions = in_states(filter, "s");
        // Word for word the predicate of the index, or SQLite would not use it.
        let index = partial_index(&codes(filter));
        let is_failed = index.is_some();
        let failed = index.map(|(_, predicate)| format!(" AND s.{predicate}")).unwrap_or_default();
        let of_job = job.map(|job| format!(" AND s.job = {}", values.add(job)));
        let of_job = of_job.unwrap_or_default();
        let found_by = match numbers {
            Some(numbers) => {
                conditions.push_str(&of_job);
                let numbers = values.add(listed(numbers));
                let those = format!("SELECT value FROM json_each({numbers}) WHERE value > {after}");
                format!("s.item IN ({those}){failed}")
            }
            None if is_failed && job.is_some() => format!("s.item > {after}{failed}{of_job}"),
            None => {
                conditions.push_str(&of_job);
                conditions.push_str(&failed);
                format!("s.item > {after}")
            }
        };
        conditions.push_str(&of_failure(filter, "s.ended", &mut values));
        Self { found_by, conditions, values }
    }

    /// Visits each row after `after` that has to be looked at, with its number and whether it is
    /// selected, until `visit` stops.
    pub(super) fn look(
        mut self,
        tx: &Transaction<'_>,
        after: i64,
        mut visit: impl FnMut(i64, bool) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Self { found_by, conditions, .. } = &self;
        let sql = format!(
            "SELECT s.item, ({conditions}) IS TRUE FROM {TABLES} WHERE {found_by} ORDER BY s.item"
        );
        self.values.0[AFTER] = after.into();
        let mut statement = tx.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(self.values.0))?;
        while let Some(row) = rows.next()? {
            if visit(row.get(0)?, row.get(1)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The numbers of the first `max` selected items, in the order in which they were added.
    pub(super) fn numbers(mut self, tx: &Transaction<'_>, max: usize) -> Result<Vec<i64>> {
        let max = self.values.add(limit(max));
        let Self { found_by, conditions, values } = self;
        let sql = format!(
            "SELECT s.item FROM {TABLES} WHERE {found_by} AND {conditions} \
             ORDER BY s.item LIMIT {max}"
        );
        tx.prepare(&sql)?.query_map(params_from_iter(values.0), |row| row.get(0))?.collect()
    }
}

/// Returns the condition that a table has items in the states of a filter.
pub(super) fn in_states(filter: &Filter, table: &str) -> String {
    let codes: Vec<_> = codes(filter).iter().map(ToString::to_string).collect();
    format!("{table}.state IN ({})", codes.join(", "))
}

/// Returns the conditions of a filter on failures `f`, and on the column in which items end.
pub(super) fn of_failure(filter: &Filter, ended: &str, values: &mut Values) -> String {
    let mut conditions = String::new();
    let mut add = |condition: &str, value: Value| {
        conditions.push_str(" AND ");
        conditions.push_str(&condition.replace("?x", &values.add(value)));
    };
    if let Some(signature) = &filter.signature {
        add("f.signature = ?x", signature.clone().into());
    }
    if let Some(class) = &filter.class {
        add(&sql::of_class("instr", "f.class", "?x", class), class.clone().into());
    }
    if let Some(since) = filter.since {
        add(&format!("{ended} >= ?x"), since.as_micros().into());
    }
    if let Some(until) = filter.until {
        add(&format!("{ended} < ?x"), until.as_micros().into());
    }
    conditions
}

/// Numbers as a JSON list, which a statement can read.
pub(super) fn listed(numbers: &[i64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// The numbers of the items with these ids, in one job or in all.
pub(super) fn find_all(tx: &Transaction<'_>, job: Option<i64>, ids: &[String]) -> Result<Vec<i64>> {
    let mut numbers = Vec::new();
    for job in tx.one_or_all(job)? {
        for id in ids {
            numbers.extend(tx.find_item(job, id)?);
        }
    }
    Ok(numbers)
}

/// The numbers of the failures with this signature; `None` if there are more than `most`.
fn find_alike(
    tx: &Transaction<'_>,
    job: i64,
    signature: &str,
    most: usize,
) -> Result<Option<Vec<i64>>> {
    let numbers = tx
        .prepare("SELECT item FROM failures WHERE job = ?1 AND signature = ?2 LIMIT ?3")?
        .query_map((job, signature, limit(most.saturating_add(1))), |row| row.get(0))?
        .collect::<Result<Vec<_>>>()?;
    Ok((numbers.len() <= most).then_some(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::record::ItemState;
    use crate::store::sqlite::SqliteOptions;
    use crate::store::sqlite::file::open_in_memory;
    use crate::store::sqlite::transaction::Names;

    #[test]
    fn failed_and_skipped_items_are_each_found_by_their_index() {
        let connection = open_in_memory(&SqliteOptions::default()).unwrap();
        let mut names = Names::default();
        let tx = Transaction::begun(&connection, &mut names);
        for (state, index) in [(ItemState::Dead, "failed"), (ItemState::Skipped, "skipped")] {
            let FilteredItems { found_by, conditions, values } =
                FilteredItems::new(&Filter::job("job").states([state]), Some(1), None);
            let sql = format!("EXPLAIN QUERY PLAN SELECT 1 FROM {TABLES} WHERE {found_by}");
            let mut plan = tx.prepare(&format!("{sql} AND {conditions}")).unwrap();
            let plan = plan.query_map(params_from_iter(values.0), |row| row.get("detail")).unwrap();
            let plan: Vec<String> = plan.map(Result::unwrap).collect();
            assert!(plan[0].contains(&format!("INDEX {index} ")), "{plan:?}");
        }
    }
}
