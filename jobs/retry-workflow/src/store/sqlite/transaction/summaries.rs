//! [`Summaries`]: what a transaction changes of the summaries, in memory; it is written once, when
//! the transaction ends.

use std::collections::HashMap;
use std::sync::LazyLock;

use rusqlite::{Connection, Result, params_from_iter};

use super::durations;
use crate::item::clock::Timestamp;
use crate::item::durations::Durations;
use crate::item::failure::Failure;
use crate::item::record::{AttemptRecord, ItemState, StepTime};
use crate::item::summary::Minute;
use crate::store::codes::state_code;
use crate::store::sql;

/// The changes of one transaction.
#[derive(Debug, Default)]
pub(in crate::store::sqlite) struct Summaries {
    groups: HashMap<GroupKey, GroupChange>,
    minutes: HashMap<(i64, Timestamp), Minute>,
    durations: HashMap<(i64, Timestamp), Durations>,
    /// The minute of the settlements.
    settled: Option<Timestamp>,
}

/// The key of a row of `groups`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    job: i64,
    state: i16,
    hour: Timestamp,
    class: String,
    signature: String,
}

#[derive(Debug)]
struct GroupChange {
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
    ) -> &mut GroupChange {
        let key = GroupKey { job, state: state_code(state), hour: ended.hour(), class, signature };
        self.groups.entry(key).or_insert(GroupChange {
            count: 0,
            first: Timestamp::NEVER,
            last: Timestamp::from_micros(i64::MIN),
            example: None,
        })
    }

    /// Counts an item that ended with this failure.
    pub(in crate::store::sqlite) fn failed(
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
    pub(in crate::store::sqlite) fn forgotten(
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
    pub(in crate::store::sqlite) fn ended(&mut self, job: i64, state: ItemState, at: Timestamp) {
        self.minute(job, at.minute()).ended(state);
    }

    /// Counts a row of history in this minute.
    pub(in crate::store::sqlite) fn tried(
        &mut self,
        job: i64,
        row: &AttemptRecord,
        minute: Timestamp,
    ) {
        self.minute(job, minute).tried(row);
        self.durations.entry((job, minute)).or_default().tried(row);
    }

    /// Counts in this minute how long a step took that has no row in the history.
    pub(in crate::store::sqlite) fn took(&mut self, job: i64, one: &StepTime, minute: Timestamp) {
        self.durations.entry((job, minute)).or_default().add(Some(&one.step), one.took);
    }

    /// Says that leases are settled in this minute: much older durations are not kept.
    pub(in crate::store::sqlite) fn settled_in(&mut self, minute: Timestamp) {
        self.settled = self.settled.max(Some(minute));
    }

    /// Deletes all summaries of a job.
    pub(in crate::store::sqlite) fn clear(
        &mut self,
        connection: &Connection,
        job: i64,
    ) -> Result<()> {
        self.groups.retain(|key, _| key.job != job);
        self.minutes.retain(|(of, _), _| *of != job);
        self.durations.retain(|(of, _), _| *of != job);
        for table in ["groups", "minutes", "durations"] {
            connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE job = ?1"))?
                .execute((job,))?;
        }
        Ok(())
    }

    /// Writes the changes.
    pub(in crate::store::sqlite) fn write(&self, connection: &Connection) -> Result<()> {
        for (GroupKey { job, state, hour, class, signature }, change) in &self.groups {
            let GroupChange { count, first, last, example } = change;
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
            let counts = sql::values_of_minute(minute);
            let values = [*job, minute.minute.as_micros()].into_iter().chain(counts);
            connection.prepare_cached(&ADD_MINUTE)?.execute(params_from_iter(values))?;
        }
        for (&(job, minute), durations) in &self.durations {
            // Minutes of imported rows do not tidy: they may be by another clock.
            let tidies = self.settled == Some(minute);
            durations::write(connection, (job, minute), durations, tidies)?;
        }
        Ok(())
    }
}

/// The job and the minute come first, and then the counts.
static ADD_MINUTE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO minutes (job, minute, {}) VALUES (?, ?, {}) ON CONFLICT DO UPDATE SET {}",
        sql::MINUTE.join(", "),
        sql::each(&sql::MINUTE, |_| "?".to_owned()),
        sql::each(&sql::MINUTE, |column| format!("{column} = {column} + excluded.{column}")),
    )
});
