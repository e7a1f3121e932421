//! Checking a whole file: its layout, its size, and whether its counts match its items.

use std::path::Path;

use rusqlite::{Connection, Result};

use super::{SqliteOptions, file, sqlite_error};
use crate::store::sql::Columns;
use crate::store::{StoreCheck, StoreResult, comparison};

/// The largest number of problems with the file that are reported.
const MOST_DAMAGE: usize = 20;

/// Items in a state whose job does not exist.
const WITHOUT_JOB: &str = "SELECT 'items in state ' || state || ' of no job ' || job FROM states \
     WHERE job NOT IN (SELECT job FROM jobs) GROUP BY state, job";

pub(super) fn check(path: &Path, options: &SqliteOptions) -> StoreResult<StoreCheck> {
    let (connection, layout) = file::open_any_to_look(path, options)?;
    let named = |error| sqlite_error::store_error(path, &error);
    let number = |layout| u32::try_from(layout).unwrap_or(u32::MAX);
    // All queries see the same snapshot.
    let transaction = connection.unchecked_transaction().map_err(named)?;
    let bytes = file::bytes(&transaction).map_err(named)?;
    let mut check = StoreCheck::new(number(layout), number(options.layout.version()), bytes);
    compare(&transaction, &mut check).map_err(named)?;
    Ok(check)
}

fn compare(connection: &Connection, check: &mut StoreCheck) -> Result<()> {
    let quick_check = format!("PRAGMA quick_check({MOST_DAMAGE})");
    for sql in [&*quick_check, WITHOUT_JOB] {
        let mut statement = connection.prepare(sql)?;
        for line in statement.query_map((), |row| row.get::<_, String>(0))? {
            check.damage.extend(Some(line?).filter(|line| line != "ok"));
        }
    }
    let mut statement = connection.prepare(&comparison("SELECT * FROM jobs").replace('@', ""))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        check.read(&mut Columns::new(row))?;
    }
    Ok(())
}
