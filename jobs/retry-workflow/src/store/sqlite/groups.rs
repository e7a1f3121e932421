//! Failures that are alike, counted by the hour in which their items ended.

use std::cmp::Reverse;

use rusqlite::{Result, params_from_iter};

use super::selection::{Values, find_all, in_states, listed, of_failure};
use super::transaction::Transaction;
use crate::item::clock::Timestamp;
use crate::item::record::Filter;
use crate::item::summary::{Group, HourCount};
use crate::store::codes::{FAILED_INDEX, codes, partial_index};
use crate::store::sql::{self, Columns, limit};

/// The failures that a filter selects, the largest group first.
pub(super) fn stats(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    newest: Option<usize>,
) -> Result<Vec<Group>> {
    let Some(job) = tx.job_of(filter)? else { return Ok(Vec::new()) };
    let mut values = Values::default();
    let from = failures(filter, job, newest, &mut values);
    let ids = match &filter.ids {
        Some(ids) => {
            let numbers = values.add(listed(&find_all(tx, job, ids)?));
            format!(" AND f.item IN (SELECT value FROM json_each({numbers}))")
        }
        None => String::new(),
    };
    let hour = sql::hour("f.ended");
    let sql = format!(
        "SELECT f.class, f.signature, {hour} AS hour, count(*), min(f.ended), max(f.ended), \
         max(f.item) FROM {from}{ids}{} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 DESC",
        of_failure(filter, "f.ended", &mut values)
    );
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values.0))?;
    let mut example = tx.prepare(
        "SELECT i.id, f.failure FROM items i JOIN failures f ON f.item = i.item WHERE i.item = ?1",
    )?;
    let mut groups: Vec<Group> = Vec::new();
    while let Some(row) = rows.next()? {
        let time = |column| row.get(column).map(Timestamp::from_micros);
        let hour = HourCount::new(time(2)?, row.get(3)?);
        let (first, last) = (time(4)?, time(5)?);
        let (class, signature) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        let is_same =
            |known: &&mut Group| known.class == class && known.signature.as_str() == signature;
        if let Some(group) = groups.last_mut().filter(is_same) {
            group.add_hour(hour, first, last);
            continue;
        }
        let mut group = example.query_row((row.get::<_, i64>(6)?,), |row| {
            let mut columns = Columns::new(row);
            let (id, failure) = (columns.text()?, columns.failure()?);
            Ok(Group::new(&columns.required(failure)?, id, first))
        })?;
        (group.count, group.last, group.hours) = (hour.count, last, vec![hour]);
        groups.push(group);
    }
    // A stable sort: groups of equal size stay in the order of their names.
    groups.sort_by_key(|group| Reverse(group.count));
    Ok(groups)
}

/// The failures `f` of a job or of all jobs in the states of a filter: all of them, or the newest.
fn failures(
    filter: &Filter,
    job: Option<i64>,
    newest: Option<usize>,
    values: &mut Values,
) -> String {
    let states = in_states(filter, "f");
    let Some(newest) = newest else {
        return match job {
            Some(job) => format!("failures f WHERE f.job = {} AND {states}", values.add(job)),
            None => format!("failures f WHERE {states}"),
        };
    };
    let newest = values.add(limit(newest));
    let (index, predicate) = partial_index(&codes(filter)).unwrap_or(FAILED_INDEX);
    let (tables, number) = match job {
        Some(job) => {
            let job = values.add(job);
            let tables = format!(
                "states s INDEXED BY {index} CROSS JOIN failures f ON f.item = s.item \
                 WHERE s.job = {job} AND s.{predicate} AND"
            );
            (tables, "s.item")
        }
        None => (format!("failures f WHERE f.{predicate} AND"), "f.item"),
    };
    format!(
        "(SELECT f.item, f.class, f.signature, f.ended FROM {tables} {states} \
         ORDER BY {number} DESC LIMIT {newest}) f WHERE true"
    )
}
