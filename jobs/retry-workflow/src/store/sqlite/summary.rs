//! Reads the summaries of a file: failures that are alike, by hour, what ended in each minute, and
//! how long attempts took.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Result, params_from_iter};

use super::selection::Summed;
use super::transaction::Transaction;
use super::transaction::columns::Json;
use crate::item::clock::Timestamp;
use crate::item::durations::Durations;
use crate::item::failure::Failure;
use crate::item::signature::Signature;
use crate::item::summary::{Group, HourCount, Minute};

/// A group while its rows are read.
struct Found {
    group: Group,
    /// The example of the last hour, in a group of one job.
    example: Option<i64>,
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
    // By class, then by signature.
    let mut found = BTreeMap::<String, BTreeMap<String, Found>>::new();
    while let Some(row) = rows.next()? {
        let time = |column| row.get(column).map(Timestamp::from_micros);
        let hour = HourCount::new(time(2)?, row.get(3)?);
        let (first, last) = (time(4)?, time(5)?);
        let (class, signature) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        if let Some(found) = found.get_mut(class).and_then(|alike| alike.get_mut(signature)) {
            if found.group.hours.last().is_none_or(|known| known.hour <= hour.hour) {
                found.example = row.get(6)?;
            }
            found.group.add_hour(hour, first, last);
            continue;
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
        let one = Found { group, example: row.get(6)? };
        found.entry(class.to_owned()).or_default().insert(signature.to_owned(), one);
    }
    let found = found.into_values().flat_map(BTreeMap::into_values);
    let mut groups = Vec::new();
    for Found { mut group, example } in found {
        let example = match meant.job {
            Some(job) => self::example(tx, meant, &group, job, example)?,
            None => example_of_any(tx, meant, &group)?,
        };
        // A group whose items are being removed has no example any more.
        if let Some((id, message)) = example {
            (group.example, group.message) = (id, message);
            groups.push(group);
        }
    }
    // A stable sort: groups of equal size stay in the order of their names.
    groups.sort_by_key(|group| Reverse(group.count));
    Ok(groups)
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
        if let Some(found) = example(tx, meant, group, job, row.get(1)?)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// An item of a group in a job, and its message: the known example, or, if that was re-driven, any
/// other item.
fn example(
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
            .query_row((&group.class, group.signature.as_str(), job, item), |row| {
                let Json(Failure { message, .. }) = row.get(1)?;
                Ok((row.get(0)?, message))
            })
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
    tx.prepare(
        "SELECT minute, succeeded, dead, skipped, attempts, failed FROM minutes \
         WHERE job = ?1 AND minute >= ?2 ORDER BY minute",
    )?
    .query_map((job, since.minute().as_micros()), |row| {
        Ok(Minute {
            minute: Timestamp::from_micros(row.get(0)?),
            succeeded: row.get(1)?,
            dead: row.get(2)?,
            skipped: row.get(3)?,
            attempts: row.get(4)?,
            failed: row.get(5)?,
        })
    })?
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
