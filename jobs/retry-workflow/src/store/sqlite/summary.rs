//! Reads the summaries of a file: failures that are alike, by hour, what ended in each minute, and
//! how long attempts took.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Result, Row, params_from_iter};

use super::selection::Summed;
use super::transaction::Transaction;
use crate::item::clock::Timestamp;
use crate::item::durations::Durations;
use crate::item::signature::Signature;
use crate::item::summary::{Group, HourCount, Minute};
use crate::store::sql::{self, Columns};

/// Groups by class and then by signature, while their rows are read, each with the number of an
/// example: of the last hour, in groups of one job.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<String, BTreeMap<String, (Group, Option<i64>)>>);

impl Groups {
    /// Adds the items of a group that ended in an hour, between these times.
    pub(super) fn add(
        &mut self,
        (class, signature): (&str, &str),
        hour: HourCount,
        (first, last): (Timestamp, Timestamp),
        item: Option<i64>,
    ) {
        // Most rows belong to a known group, so their texts are not copied.
        if let Some((group, example)) =
            self.0.get_mut(class).and_then(|alike| alike.get_mut(signature))
        {
            if group.hours.last().is_none_or(|known| known.hour <= hour.hour) {
                *example = item;
            }
            group.add_hour(hour, first, last);
            return;
        }
        let group = Group {
            class: class.to_owned(),
            signature: Signature::from(signature.to_owned()),
            count: hour.count,
            first,
            last,
            example: String::new(),
            message: String::new(),
            hours: vec![hour],
        };
        let alike = self.0.entry(class.to_owned()).or_default();
        alike.insert(signature.to_owned(), (group, item));
    }

    /// Finds the example of each group, and its message, and returns the groups, the largest first.
    /// A group whose items are being removed has no example any more.
    pub(super) fn complete(
        self,
        mut example: impl FnMut(&Group, Option<i64>) -> Result<Option<(String, String)>>,
    ) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        for (mut group, item) in self.0.into_values().flat_map(BTreeMap::into_values) {
            if let Some(found) = example(&group, item)? {
                (group.example, group.message) = found;
                groups.push(group);
            }
        }
        // A stable sort: groups of equal size stay in the order of their names.
        groups.sort_by_key(|group| Reverse(group.count));
        Ok(groups)
    }
}

/// The groups that a filter selects, the largest first.
pub(super) fn groups(tx: &Transaction<'_>, meant: &Summed) -> Result<Vec<Group>> {
    let (table, example) =
        if meant.job.is_some() { ("groups", "g.example") } else { ("rollup", "NULL") };
    // In the order in which the rows are stored: sorting them takes longer than finding the group
    // of each.
    let sql = format!(
        "SELECT g.class, g.signature, g.hour, g.count, g.first, g.last, {example} \
         FROM {table} g WHERE {}",
        meant.conditions
    );
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(&meant.values))?;
    let mut groups = Groups::default();
    while let Some(row) = rows.next()? {
        let time = |column| row.get(column).map(Timestamp::from_micros);
        let kind = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        let hour = HourCount::new(time(2)?, row.get(3)?);
        groups.add(kind, hour, (time(4)?, time(5)?), row.get(6)?);
    }
    groups.complete(|group, item| match meant.job {
        Some(job) => example_of_job(tx, meant, group, job, item),
        None => example_of_any(tx, meant, group),
    })
}

/// Reads the id of an item and the message of its failure.
pub(super) fn id_and_message(row: &Row<'_>) -> Result<(String, String)> {
    let mut columns = Columns::new(row);
    let id = columns.text()?;
    Ok((id, columns.failure()?.map(|failure| failure.message).unwrap_or_default()))
}

/// An item of a group over all jobs, and its message: one that ended in the last hour, if possible.
fn example_of_any(
    tx: &Transaction<'_>,
    meant: &Summed,
    group: &Group,
) -> Result<Option<(String, String)>> {
    let sql = format!(
        "SELECT g.job, g.example FROM groups g INDEXED BY across \
         WHERE g.class = ?1 AND g.signature = ?2 AND g.state IN ({}) ORDER BY g.hour DESC",
        meant.states
    );
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query((&group.class, group.signature.as_str()))?;
    // Most of the time, the first one has it: unless its job is being removed.
    let mut before = None;
    while let Some(row) = rows.next()? {
        let job = row.get(0)?;
        if before.replace(job) == Some(job) {
            continue;
        }
        if let Some(found) = example_of_job(tx, meant, group, job, row.get(1)?)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// An item of a group in a job, and its message: the known example, or, if that was re-driven, any
/// other item.
fn example_of_job(
    tx: &Transaction<'_>,
    meant: &Summed,
    group: &Group,
    job: i64,
    item: Option<i64>,
) -> Result<Option<(String, String)>> {
    let find = |index: &str, condition: &str| {
        let sql = format!(
            "SELECT i.id, f.failure FROM failures f {index} \
             CROSS JOIN states s ON s.item = f.item CROSS JOIN items i ON i.item = f.item \
             WHERE f.class = ?1 AND f.signature = ?2 AND f.job = ?3 AND s.state IN ({}) \
             AND {condition} LIMIT 1",
            meant.states
        );
        tx.prepare(&sql)?
            .query_row((&group.class, group.signature.as_str(), job, item), id_and_message)
            .optional()
    };
    if let Some(found) = find("NOT INDEXED", "f.item = ?4")? {
        return Ok(Some(found));
    }
    find("INDEXED BY alike", "f.item IS NOT ?4")
}

/// Returns the minutes of a job, from the minute of `since` on.
pub(super) fn minutes(
    tx: &mut Transaction<'_>,
    job: &str,
    since: Timestamp,
) -> Result<Vec<Minute>> {
    let Some(job) = tx.find_job(job)? else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT minute, {} FROM minutes WHERE job = ?1 AND minute >= ?2 ORDER BY minute",
        sql::MINUTE.join(", ")
    );
    tx.prepare(&sql)?
        .query_map((job, since.minute().as_micros()), |row| sql::minute(&mut Columns::new(row)))?
        .collect()
}

/// Returns how long attempts of a job took, from the minute of `since` on.
pub(super) fn durations(
    tx: &mut Transaction<'_>,
    job: &str,
    since: Timestamp,
) -> Result<Durations> {
    let mut durations = Durations::new();
    let Some(job) = tx.find_job(job)? else { return Ok(durations) };
    let mut statement = tx.prepare(
        "SELECT step, bucket, sum(count) FROM durations \
         WHERE job = ?1 AND minute >= ?2 GROUP BY step, bucket ORDER BY step, bucket",
    )?;
    let mut rows = statement.query((job, since.minute().as_micros()))?;
    while let Some(row) = rows.next()? {
        durations.add_to(Some(row.get_ref(0)?.as_str()?), row.get(1)?, row.get(2)?);
    }
    Ok(durations)
}
