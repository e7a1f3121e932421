//! The summaries of a file: failures that are alike, by hour, and what ended in each minute. A
//! transaction changes them in memory, and writes them once when it ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Result, params_from_iter};

use super::layout::code;
use super::selection::Summed;
use super::transaction::{Json, Transaction};
use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::{AttemptRecord, ItemState};
use crate::item::signature::Signature;
use crate::item::summary::{Group, HourCount, Minute};

/// The changes of one transaction.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    groups: HashMap<Key, Change>,
    minutes: HashMap<(i64, Timestamp), Minute>,
}

/// The key of a row of `groups`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    job: i64,
    state: i64,
    hour: Timestamp,
    class: String,
    signature: String,
}

#[derive(Debug)]
struct Change {
    count: i64,
    first: Timestamp,
    last: Timestamp,
    example: Option<i64>,
}

impl Summaries {
    fn change(
        &mut self,
        (job, state): (i64, ItemState),
        (class, signature): (String, String),
        ended: Timestamp,
    ) -> &mut Change {
        let key = Key { job, state: code(state), hour: ended.hour(), class, signature };
        self.groups.entry(key).or_insert(Change {
            count: 0,
            first: Timestamp::NEVER,
            last: Timestamp::from_micros(i64::MIN),
            example: None,
        })
    }

    /// Counts an item that ended with this failure.
    pub(super) fn failed(
        &mut self,
        (job, state): (i64, ItemState),
        failure: &Failure,
        ended: Timestamp,
        item: i64,
    ) {
        let alike = (failure.class.clone(), failure.signature.as_str().to_owned());
        let change = self.change((job, state), alike, ended);
        change.count += 1;
        change.first = change.first.min(ended);
        change.last = change.last.max(ended);
        // The first of them, so that the result is deterministic.
        change.example = Some(change.example.map_or(item, |example| example.min(item)));
    }

    /// Takes the failure of an item out of its group.
    pub(super) fn forgotten(
        &mut self,
        of: (i64, ItemState),
        class_and_signature: (String, String),
        ended: Timestamp,
    ) {
        self.change(of, class_and_signature, ended).count -= 1;
    }

    fn minute(&mut self, job: i64, minute: Timestamp) -> &mut Minute {
        self.minutes.entry((job, minute)).or_insert_with(|| Minute::new(minute))
    }

    /// Counts an item that reached this state.
    pub(super) fn ended(&mut self, job: i64, state: ItemState, at: Timestamp) {
        self.minute(job, at.minute()).ended(state);
    }

    /// Counts a row of history in this minute.
    pub(super) fn tried(&mut self, job: i64, row: &AttemptRecord, minute: Timestamp) {
        self.minute(job, minute).tried(row);
    }

    /// Deletes all summaries of a job.
    pub(super) fn clear(&mut self, connection: &Connection, job: i64) -> Result<()> {
        self.groups.retain(|key, _| key.job != job);
        self.minutes.retain(|(of, _), _| *of != job);
        for table in ["groups", "minutes"] {
            connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE job = ?1"))?
                .execute((job,))?;
        }
        Ok(())
    }

    /// Writes the changes.
    pub(super) fn write(&self, connection: &Connection) -> Result<()> {
        for (Key { job, state, hour, class, signature }, change) in &self.groups {
            let Change { count, first, last, example } = change;
            connection
                .prepare_cached(
                    "INSERT INTO groups \
                     (job, state, class, signature, hour, count, first, last, example) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
                     ON CONFLICT DO UPDATE SET count = count + excluded.count, \
                     first = min(first, excluded.first), last = max(last, excluded.last), \
                     example = coalesce(min(example, excluded.example), excluded.example, example)",
                )?
                .execute((
                    job,
                    state,
                    class,
                    signature,
                    hour.as_micros(),
                    count,
                    first.as_micros(),
                    last.as_micros(),
                    example,
                ))?;
            if *count <= 0 {
                connection
                    .prepare_cached(
                        "DELETE FROM groups WHERE job = ?1 AND state = ?2 AND class = ?3 \
                         AND signature = ?4 AND hour = ?5 AND count <= 0",
                    )?
                    .execute((job, state, class, signature, hour.as_micros()))?;
            }
        }
        for ((job, _), minute) in self.minutes.iter().filter(|(_, minute)| !minute.is_empty()) {
            let Minute { minute, succeeded, dead, skipped, attempts, failed } = minute;
            connection
                .prepare_cached(
                    "INSERT INTO minutes \
                     (job, minute, succeeded, dead, skipped, attempts, failed) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                     ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, \
                     dead = dead + excluded.dead, skipped = skipped + excluded.skipped, \
                     attempts = attempts + excluded.attempts, failed = failed + excluded.failed",
                )?
                .execute((job, minute.as_micros(), succeeded, dead, skipped, attempts, failed))?;
        }
        Ok(())
    }
}

/// A group while its rows are read.
struct Found {
    group: Group,
    /// The job and the example of the last hour.
    example: (i64, Option<i64>),
}

/// The groups that a filter selects, the largest first.
pub(super) fn groups(tx: &Transaction<'_>, meant: &Summed) -> Result<Vec<Group>> {
    // In the order in which the rows are stored: sorting them takes longer than finding the group
    // of each.
    let sql = format!(
        "SELECT g.job, g.class, g.signature, g.hour, g.count, g.first, g.last, g.example \
         FROM groups g WHERE {}",
        meant.conditions
    );
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(&meant.values))?;
    // By class, then by signature.
    let mut found = BTreeMap::<String, BTreeMap<String, Found>>::new();
    while let Some(row) = rows.next()? {
        let time = |column| row.get(column).map(Timestamp::from_micros);
        let hour = HourCount::new(time(3)?, row.get(4)?);
        let (first, last) = (time(5)?, time(6)?);
        let (class, signature) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        if let Some(found) = found.get_mut(class).and_then(|alike| alike.get_mut(signature)) {
            if found.group.hours.last().is_none_or(|known| known.hour <= hour.hour) {
                found.example = (row.get(0)?, row.get(7)?);
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
        let one = Found { group, example: (row.get(0)?, row.get(7)?) };
        found.entry(class.to_owned()).or_default().insert(signature.to_owned(), one);
    }
    let found = found.into_values().flat_map(BTreeMap::into_values);
    let mut groups = Vec::new();
    for Found { mut group, example: (job, item) } in found {
        // A group whose items are being removed has no example any more.
        if let Some((id, message)) = example(tx, meant, &group, job, item)? {
            (group.example, group.message) = (id, message);
            groups.push(group);
        }
    }
    // A stable sort: groups of equal size stay in the order of their names.
    groups.sort_by_key(|group| Reverse(group.count));
    Ok(groups)
}

/// An item of a group, and its message: the known example, or, if that was re-driven, any other
/// item of this job.
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

/// The minutes of a job, from that of `since` on.
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
