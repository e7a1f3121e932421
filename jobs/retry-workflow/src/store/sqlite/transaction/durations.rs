//! Adds how long attempts took to the durations in a file.

use rusqlite::{Connection, OptionalExtension, Result};

use crate::item::clock::Timestamp;
use crate::item::durations::{DURATIONS_KEPT, Durations, MAX_STEPS, OTHER_STEPS};

/// Adds durations to a minute of a job; if it `tidies`, minutes that are too old may go.
pub(super) fn write(
    connection: &Connection,
    (job, minute): (i64, Timestamp),
    durations: &Durations,
    tidies: bool,
) -> Result<()> {
    let at = minute.as_micros();
    let mut update = connection.prepare_cached(
        "UPDATE durations SET count = count + ?5 \
         WHERE job = ?1 AND minute = ?2 AND step = ?3 AND bucket = ?4",
    )?;
    let (mut names, mut is_new) = (StepNames { job, minute: at, known: None }, false);
    for one in durations.steps() {
        let step = one.step.as_deref().unwrap_or("");
        for (bucket, count) in one.took.buckets() {
            // Most of the time, another attempt of this minute is in the same bucket.
            if update.execute((job, at, step, bucket, count))? > 0 {
                continue;
            }
            let step = if names.have(connection, step)? { step } else { OTHER_STEPS };
            connection
                .prepare_cached(
                    "INSERT INTO durations (job, minute, step, bucket, count) \
                     VALUES (?1, ?2, ?3, ?4, ?5) \
                     ON CONFLICT DO UPDATE SET count = count + excluded.count",
                )?
                .execute((job, at, step, bucket, count))?;
            is_new = true;
        }
    }
    if is_new && tidies {
        connection
            .prepare_cached("DELETE FROM durations WHERE job = ?1 AND minute < ?2")?
            .execute((job, (minute - DURATIONS_KEPT).as_micros()))?;
    }
    Ok(())
}

/// The names of steps in a minute of a job.
struct StepNames {
    job: i64,
    minute: i64,
    /// The number of these names, once it was read.
    known: Option<usize>,
}

impl StepNames {
    /// Returns whether a step is among them, or becomes one of them.
    fn have(&mut self, connection: &Connection, step: &str) -> Result<bool> {
        if step.is_empty() || step == OTHER_STEPS {
            return Ok(true);
        }
        let is_known = connection
            .prepare_cached("SELECT 1 FROM durations WHERE job = ?1 AND minute = ?2 AND step = ?3")?
            .query_row((self.job, self.minute, step), |_| Ok(()))
            .optional()?;
        if is_known.is_some() {
            return Ok(true);
        }
        let known = match self.known {
            Some(known) => known,
            None => connection
                .prepare_cached(
                    "SELECT count(DISTINCT step) FROM durations \
                     WHERE job = ?1 AND minute = ?2 AND step NOT IN ('', ?3)",
                )?
                .query_row((self.job, self.minute, OTHER_STEPS), |row| row.get(0))?,
        };
        let has_room = known < MAX_STEPS;
        self.known = Some(if has_room { known + 1 } else { known });
        Ok(has_room)
    }
}
