//! Failures that are alike, counted by the hour in which their items ended.

use std::cmp::Reverse;

use rusqlite::{Result, params_from_iter};

use super::selection::{Values, find_all, in_states, listed, of_failure};
use super::transaction::Transaction;
use crate::item::clock::Timestamp;
use crate::item::record::Filter;
use crate::item::summary::{Group, HourCount};
use crate::store::sql::{self, Columns, limit};

/// The failures that a filter selects, the largest group first.
pub(super) fn stats(
    tx: &mut Transaction<'_>,
    filter: &Filter,
    newest: Option<usize>,
) -> Result<Vec<Group>> {
    let Some(job) = tx.job_of(filter)? else { return Ok(Vec::new()) };
    let mut values = Values::default();
    let (of_job, newest) =
        (job.map(|job| values.add(job)), newest.map(|newest| values.add(limit(newest))));
    let (index, _) = sql::index_of_failed(filter);
    let joined = format!("INDEXED BY {index} CROSS JOIN");
    let from = sql::failures(filter, &joined, (of_job, newest), &in_states(filter, "f"));
    let from = from.replace('@', "");
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
