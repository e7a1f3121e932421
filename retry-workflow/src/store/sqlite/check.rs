//! Looking at a whole file: its layout, its size, and whether its counts are those of its items.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, Result};

use super::layout::{PURGED, VERSION, code};
use super::{SqliteOptions, file, sqlite_error};
use crate::item::record::ItemState;
use crate::store::{StoreCheck, StoreResult};

/// More than this of what is broken is not told.
const MOST_DAMAGE: usize = 20;

pub(super) fn check(path: &Path, options: &SqliteOptions) -> StoreResult<StoreCheck> {
    let (connection, layout) = file::open_any_to_look(path, options)?;
    let named = |error| sqlite_error::store_error(path, &error);
    let number = |layout| u32::try_from(layout).unwrap_or(u32::MAX);
    // All of one moment.
    let transaction = connection.unchecked_transaction().map_err(named)?;
    let bytes = file::bytes(&transaction).map_err(named)?;
    let mut check = StoreCheck::new(number(layout), number(VERSION), bytes);
    look(&transaction, &mut check).map_err(named)?;
    Ok(check)
}

/// Of what every layout has.
fn look(connection: &Connection, check: &mut StoreCheck) -> Result<()> {
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
            let mut of = |code| found.remove(&(job, code)).unwrap_or(0);
            let mut there = of(code(state));
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
