//! Checking a whole file: its layout, its size, and whether its counts and summaries match its
//! items.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::{Connection, Result};

use super::transaction::columns::state;
use super::{SqliteOptions, file, sqlite_error};
use crate::item::clock::Timestamp;
use crate::item::record::ItemState;
use crate::store::codes::{PURGED, SUCCEEDED, state_code};
use crate::store::{StoreCheck, StoreResult, Summary};

/// The largest number of problems with the file that are reported.
const MOST_DAMAGE: usize = 20;

pub(super) fn check(path: &Path, options: &SqliteOptions) -> StoreResult<StoreCheck> {
    let (connection, layout) = file::open_any_to_look(path, options)?;
    let named = |error| sqlite_error::store_error(path, &error);
    let number = |layout| u32::try_from(layout).unwrap_or(u32::MAX);
    // All queries see the same snapshot.
    let transaction = connection.unchecked_transaction().map_err(named)?;
    let bytes = file::bytes(&transaction).map_err(named)?;
    let mut check = StoreCheck::new(number(layout), number(options.layout.version()), bytes);
    for look in [look_at_counts, look_at_summaries, look_at_rollup] {
        look(&transaction, &mut check).map_err(named)?;
    }
    Ok(check)
}

/// Checks the file, and whether the counts of each job match its items.
fn look_at_counts(connection: &Connection, check: &mut StoreCheck) -> Result<()> {
    check.damage = connection
        .prepare(&format!("PRAGMA quick_check({MOST_DAMAGE})"))?
        .query_map((), |row| row.get(0))?
        .filter(|line| !line.as_ref().is_ok_and(|line| line == "ok"))
        .collect::<Result<_>>()?;
    let mut found = HashMap::<(i64, i64), u64>::new();
    let mut states = connection.prepare("SELECT job, state, count(*) FROM states GROUP BY 1, 2")?;
    let mut rows = states.query(())?;
    while let Some(row) = rows.next()? {
        found.insert((row.get(0)?, row.get(1)?), row.get(2)?);
    }
    let mut jobs = connection.prepare(
        "SELECT job, name, pending, leased, succeeded, dead, skipped FROM jobs ORDER BY name",
    )?;
    let mut rows = jobs.query(())?;
    while let Some(row) = rows.next()? {
        let (job, name): (_, String) = (row.get(0)?, row.get(1)?);
        for (column, state) in ItemState::ALL.into_iter().enumerate() {
            let mut of = |code: i16| found.remove(&(job, code.into())).unwrap_or(0);
            let mut there = of(state_code(state));
            if state == ItemState::Skipped {
                there += of(PURGED);
            }
            check.compare(&name, state, row.get(column + 2)?, there);
        }
    }
    let lost: Vec<_> = found
        .keys()
        .map(|(job, state)| format!("items in state {state} of no job {job}"))
        .collect();
    check.damage.extend(lost);
    Ok(())
}

/// Checks whether each summary matches the items.
fn look_at_summaries(connection: &Connection, check: &mut StoreCheck) -> Result<()> {
    // The count in the summary, and the number found.
    let mut groups = BTreeMap::<(String, ItemState, String, String, Timestamp), (u64, u64)>::new();
    let mut counted = connection.prepare(
        "SELECT j.name, g.state, g.class, g.signature, g.hour, g.count \
         FROM groups g JOIN jobs j ON j.job = g.job",
    )?;
    let mut rows = counted.query(())?;
    while let Some(row) = rows.next()? {
        let hour = Timestamp::from_micros(row.get(4)?);
        let key = (row.get(0)?, state(row, 1)?, row.get(2)?, row.get(3)?, hour);
        groups.entry(key).or_default().0 = row.get(5)?;
    }
    let mut found = connection.prepare(
        "SELECT j.name, s.state, f.class, f.signature, s.ended FROM failures f \
         JOIN states s ON s.item = f.item JOIN jobs j ON j.job = s.job WHERE s.ended IS NOT NULL",
    )?;
    let mut rows = found.query(())?;
    while let Some(row) = rows.next()? {
        let hour = Timestamp::from_micros(row.get(4)?).hour();
        let key = (row.get(0)?, state(row, 1)?, row.get(2)?, row.get(3)?, hour);
        groups.entry(key).or_default().1 += 1;
    }
    for ((job, state, class, signature, hour), (counted, found)) in groups {
        let summary = Summary::Group { class, signature, hour };
        check.compare_summary(&job, state, summary, counted, found);
    }
    let mut minutes = BTreeMap::<(String, Timestamp), (u64, u64)>::new();
    let mut counted = connection.prepare(
        "SELECT j.name, m.minute, m.succeeded FROM minutes m JOIN jobs j ON j.job = m.job",
    )?;
    let mut rows = counted.query(())?;
    while let Some(row) = rows.next()? {
        let minute = Timestamp::from_micros(row.get(1)?);
        minutes.entry((row.get(0)?, minute)).or_default().0 = row.get(2)?;
    }
    let mut found = connection.prepare(
        "SELECT j.name, s.ended FROM states s JOIN jobs j ON j.job = s.job \
         WHERE s.state = ?1 AND s.ended IS NOT NULL",
    )?;
    let mut rows = found.query((SUCCEEDED,))?;
    while let Some(row) = rows.next()? {
        let minute = Timestamp::from_micros(row.get(1)?).minute();
        minutes.entry((row.get(0)?, minute)).or_default().1 += 1;
    }
    for ((job, minute), (counted, found)) in minutes {
        let summary = Summary::Minute(minute);
        check.compare_summary(&job, ItemState::Succeeded, summary, counted, found);
    }
    Ok(())
}

/// Checks whether the roll-up is the sum of the groups, which are checked against the items.
fn look_at_rollup(connection: &Connection, check: &mut StoreCheck) -> Result<()> {
    let mut different = connection.prepare(
        "SELECT state, class, signature, hour, sum(rolled), sum(grouped) FROM (
             SELECT state, class, signature, hour, count AS rolled, 0 AS grouped FROM rollup
             UNION ALL
             SELECT state, class, signature, hour, 0, count FROM groups
         ) GROUP BY 1, 2, 3, 4 HAVING sum(rolled) <> sum(grouped)",
    )?;
    let mut rows = different.query(())?;
    while let Some(row) = rows.next()? {
        let hour = Timestamp::from_micros(row.get(3)?);
        let summary = Summary::AllJobs { class: row.get(1)?, signature: row.get(2)?, hour };
        check.compare_summary("", state(row, 0)?, summary, row.get(4)?, row.get(5)?);
    }
    Ok(())
}
