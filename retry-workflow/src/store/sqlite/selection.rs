//! A [`Filter`] as SQL: the same items as [`Filter::wants`], without reading all of them.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Result, Row, params_from_iter};

use super::add;
use super::layout::{DEAD, PURGED, SKIPPED, code};
use super::transaction::Transaction;
use crate::item::record::{Filter, ItemState};

/// Which items are meant.
pub(super) struct Selection {
    tables: &'static str,
    order: &'static str,
    conditions: String,
    values: Vec<Value>,
    /// Only these, in their order, if ids were given.
    numbers: Option<Vec<i64>>,
}

impl Selection {
    /// `None` if nothing can be meant.
    pub(super) fn resolve(tx: &mut Transaction<'_>, filter: &Filter) -> Result<Option<Self>> {
        let job = match &filter.job {
            Some(name) => match tx.find_job(name)? {
                Some(job) => Some(job),
                None => return Ok(None),
            },
            None => None,
        };
        let mut codes: Vec<_> = ItemState::ALL
            .into_iter()
            .filter(|state| filter.wants_state(*state))
            .map(code)
            .collect();
        if codes.contains(&SKIPPED) {
            codes.push(PURGED);
        }
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
            let _infallible = write!(
                selection.conditions,
                " AND s.state >= 3 AND s.state IN ({DEAD}, {SKIPPED})"
            );
        }
        Ok(selection)
    }

    fn new(filter: &Filter, job: Option<i64>, codes: &[i64], numbers: Option<Vec<i64>>) -> Self {
        // `CROSS` keeps the order of the tables, which is the order of the answer as well.
        let (tables, number) = if filter.signature.is_some() && numbers.is_none() && job.is_some() {
            (
                "failures f INDEXED BY alike CROSS JOIN states s ON s.item = f.item \
                 CROSS JOIN items i ON i.item = f.item",
                "f.item",
            )
        } else {
            (
                "states s CROSS JOIN items i ON i.item = s.item \
                 LEFT JOIN failures f ON f.item = s.item",
                "s.item",
            )
        };
        let mut values = Vec::new();
        let mut conditions = match &numbers {
            Some(_) => format!("{number} = ?1"),
            None => format!("{number} > ?1"),
        };
        let codes: Vec<_> = codes.iter().map(ToString::to_string).collect();
        let _infallible = write!(conditions, " AND s.state IN ({})", codes.join(", "));
        if codes.iter().all(|code| code.as_str() >= "3") {
            // In these words, for it is what the index `failed` is of.
            conditions.push_str(" AND s.state >= 3");
        }
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            // `?1` is the number of the item.
            let place = format!("?{}", values.len() + 1);
            conditions.push_str(" AND ");
            conditions.push_str(&condition.replace("?x", &place));
        };
        if let Some(job) = job {
            add("s.job = ?x", job.into());
            if number == "f.item" {
                add("f.job = ?x", job.into());
            }
        }
        if let Some(signature) = &filter.signature {
            add("f.signature = ?x", signature.clone().into());
        }
        if let Some(class) = &filter.class {
            let condition = if class.contains('+') {
                "f.class = ?x"
            } else {
                "instr('+' || f.class || '+', '+' || ?x || '+') > 0"
            };
            add(condition, class.clone().into());
        }
        if let Some(since) = filter.since {
            add("s.ended >= ?x", since.as_micros().into());
        }
        if let Some(until) = filter.until {
            add("s.ended < ?x", until.as_micros().into());
        }
        Self { tables, order: number, conditions, values, numbers }
    }

    /// Visits what is meant behind `after`, in the order in which it was added, until `visit` ends it.
    pub(super) fn each(
        &self,
        tx: &Transaction<'_>,
        columns: &str,
        after: i64,
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Self { tables, order, conditions, values, numbers } = self;
        let sql = format!("SELECT {columns} FROM {tables} WHERE {conditions} ORDER BY {order}");
        let mut statement = tx.prepare(&sql)?;
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

    /// The numbers of the first `max` that are meant.
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

/// The numbers of the items with these ids, of one job or of all.
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
            numbers.extend(add::find(tx, job, id)?);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
