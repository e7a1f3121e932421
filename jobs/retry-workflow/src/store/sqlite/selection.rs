//! A [`Filter`] as SQL: it selects the same items as [`Filter::wants`], without reading all of
//! them.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Result, Row, params_from_iter};

use super::transaction::Transaction;
use crate::item::record::Filter;
use crate::store::codes::{DEAD, SKIPPED, codes};
use crate::store::sql;

/// The items that a filter selects.
pub(super) struct FilteredItems {
    tables: &'static str,
    order: &'static str,
    /// The conditions that an index answers, which determine the rows to look at.
    found_by: String,
    /// The other conditions.
    conditions: String,
    values: Vec<Value>,
    /// Only these, in order, if ids were given.
    numbers: Option<Vec<i64>>,
}

impl FilteredItems {
    /// `None` if no item can match.
    pub(super) fn resolve(tx: &mut Transaction<'_>, filter: &Filter) -> Result<Option<Self>> {
        let job = match &filter.job {
            Some(name) => match tx.find_job(name)? {
                Some(job) => Some(job),
                None => return Ok(None),
            },
            None => None,
        };
        let codes = codes(filter);
        let numbers = match &filter.ids {
            Some(ids) => Some(find_all(tx, job, ids)?),
            None => None,
        };
        Ok(Some(Self::new(filter, job, &codes, numbers)))
    }

    /// As [`resolve`](Self::resolve), but only dead letters and skipped items that are not purged.
    pub(super) fn resolve_failed(
        tx: &mut Transaction<'_>,
        filter: &Filter,
    ) -> Result<Option<Self>> {
        let mut selection = Self::resolve(tx, filter)?;
        if let Some(selection) = &mut selection {
            selection.found_by.push_str(" AND s.state >= 3");
            let _infallible = write!(selection.conditions, " AND s.state IN ({DEAD}, {SKIPPED})");
        }
        Ok(selection)
    }

    fn new(filter: &Filter, job: Option<i64>, codes: &[i16], numbers: Option<Vec<i64>>) -> Self {
        // `CROSS` keeps the order of the tables, which is also the order of the result.
        let (tables, number) = if filter.signature.is_some() && numbers.is_none() && job.is_some() {
            ("failures f INDEXED BY alike CROSS JOIN states s ON s.item = f.item", "f.item")
        } else {
            ("states s LEFT JOIN failures f ON f.item = s.item", "s.item")
        };
        let mut values = Vec::new();
        let mut found_by = match &numbers {
            Some(_) => format!("{number} = ?1"),
            None => format!("{number} > ?1"),
        };
        let listed: Vec<_> = codes.iter().map(ToString::to_string).collect();
        let mut conditions = format!("s.state IN ({})", listed.join(", "));
        let is_failed = codes.iter().all(|code| *code >= DEAD);
        if is_failed {
            // Word for word the predicate of the index `failed`, or SQLite would not use it.
            let to = if job.is_some() { &mut found_by } else { &mut conditions };
            to.push_str(" AND s.state >= 3");
        }
        let mut add = |to: &mut String, condition: &str, value: Value| {
            values.push(value);
            // `?1` is the number of the item.
            let place = format!("?{}", values.len() + 1);
            to.push_str(" AND ");
            to.push_str(&condition.replace("?x", &place));
        };
        if let Some(job) = job {
            let indexed = is_failed || number == "f.item";
            let to = if indexed { &mut found_by } else { &mut conditions };
            let condition = if number == "f.item" { "f.job = ?x" } else { "s.job = ?x" };
            add(to, condition, job.into());
        }
        if let Some(signature) = &filter.signature {
            let to = if number == "f.item" { &mut found_by } else { &mut conditions };
            add(to, "f.signature = ?x", signature.clone().into());
        }
        if let Some(class) = &filter.class {
            add(
                &mut conditions,
                &sql::of_class("instr", "f.class", "?x", class),
                class.clone().into(),
            );
        }
        if let Some(since) = filter.since {
            add(&mut conditions, "s.ended >= ?x", since.as_micros().into());
        }
        if let Some(until) = filter.until {
            add(&mut conditions, "s.ended < ?x", until.as_micros().into());
        }
        Self { tables, order: number, found_by, conditions, values, numbers }
    }

    /// Visits the selected items after `after`, in the order in which they were added, until
    /// `visit` stops.
    pub(super) fn each(
        &self,
        tx: &Transaction<'_>,
        columns: &str,
        after: i64,
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Self { tables, order, found_by, conditions, .. } = self;
        let sql = format!(
            "SELECT {columns} FROM {tables} WHERE {found_by} AND {conditions} ORDER BY {order}"
        );
        self.visit(tx, &sql, after, &mut visit)
    }

    /// Visits each row after `after` that has to be looked at, with its number and whether it is
    /// selected, until `visit` stops.
    pub(super) fn look(
        &self,
        tx: &Transaction<'_>,
        after: i64,
        mut visit: impl FnMut(i64, bool) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Self { tables, order, found_by, conditions, .. } = self;
        let sql = format!(
            "SELECT {order}, ({conditions}) IS TRUE FROM {tables} WHERE {found_by} ORDER BY {order}"
        );
        self.visit(tx, &sql, after, &mut |row| visit(row.get(0)?, row.get(1)?))
    }

    fn visit(
        &self,
        tx: &Transaction<'_>,
        sql: &str,
        after: i64,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Self { values, numbers, .. } = self;
        let mut statement = tx.prepare(sql)?;
        let with = |number: i64| {
            params_from_iter(std::iter::once(Value::from(number)).chain(values.iter().cloned()))
        };
        let Some(numbers) = numbers else {
            let mut rows = statement.query(with(after))?;
            while let Some(row) = rows.next()? {
                if visit(row)?.is_break() {
                    break;
                }
            }
            return Ok(());
        };
        for &number in numbers.iter().filter(|number| **number > after) {
            let visited = statement.query_row(with(number), |row| visit(row)).optional()?;
            if visited.is_some_and(|flow| flow.is_break()) {
                break;
            }
        }
        Ok(())
    }

    /// The numbers of the first `max` selected items.
    pub(super) fn numbers(&self, tx: &Transaction<'_>, max: usize) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        if max == 0 {
            return Ok(numbers);
        }
        self.each(tx, "s.item", 0, |row| {
            numbers.push(row.get(0)?);
            Ok(if numbers.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(numbers)
    }
}

/// The rows that a filter selects in the summary of failures.
pub(super) struct Summed {
    /// The job; without one, the rows come from the roll-up.
    pub(super) job: Option<i64>,
    /// Conditions on these rows, `g`.
    pub(super) conditions: String,
    pub(super) values: Vec<Value>,
    /// The states of their items, as codes.
    pub(super) states: String,
}

impl Summed {
    /// `None` if no row can match.
    pub(super) fn resolve(tx: &mut Transaction<'_>, filter: &Filter) -> Result<Option<Self>> {
        let codes: Vec<_> = codes(filter).iter().map(ToString::to_string).collect();
        let states = codes.join(", ");
        let mut conditions = format!("g.state IN ({states})");
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            let place = format!("?{}", values.len());
            conditions.push_str(" AND ");
            conditions.push_str(&condition.replace("?x", &place));
        };
        let mut job = None;
        if let Some(name) = &filter.job {
            let Some(found) = tx.find_job(name)? else { return Ok(None) };
            add("g.job = ?x", found.into());
            job = Some(found);
        }
        if let Some(signature) = &filter.signature {
            add("g.signature = ?x", signature.clone().into());
        }
        if let Some(class) = &filter.class {
            add(&sql::of_class("instr", "g.class", "?x", class), class.clone().into());
        }
        Ok(Some(Self { job, conditions, values, states }))
    }
}

/// The numbers of the items with these ids, in one job or in all.
fn find_all(tx: &Transaction<'_>, job: Option<i64>, ids: &[String]) -> Result<Vec<i64>> {
    let jobs = match job {
        Some(job) => vec![job],
        None => tx
            .prepare("SELECT job FROM jobs")?
            .query_map((), |row| row.get(0))?
            .collect::<Result<_>>()?,
    };
    let mut numbers = Vec::new();
    for job in jobs {
        for id in ids {
            numbers.extend(tx.find_item(job, id)?);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
