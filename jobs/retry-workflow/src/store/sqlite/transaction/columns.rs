//! The reading and writing of columns: counts, states, and JSON values.

use std::time::Duration;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Error, Result, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::item::record::{Counts, ItemState};
use crate::store::codes;

/// Reads the counts of a job from this column on.
pub(in crate::store::sqlite) fn counts(row: &Row<'_>, from: usize) -> Result<Counts> {
    Ok(Counts {
        pending: row.get(from)?,
        leased: row.get(from + 1)?,
        succeeded: row.get(from + 2)?,
        dead: row.get(from + 3)?,
        skipped: row.get(from + 4)?,
        attempts: row.get(from + 5)?,
        lost: row.get(from + 6)?,
        worked: Duration::from_micros(row.get(from + 7)?),
        waited: Duration::from_micros(row.get(from + 8)?),
    })
}

/// Reads the state of an item from a column.
pub(in crate::store::sqlite) fn state(row: &Row<'_>, column: usize) -> Result<ItemState> {
    let code: i16 = row.get(column)?;
    codes::state(code).ok_or(Error::IntegralValueOutOfRange(column, code.into()))
}

/// A value that a column stores as JSON.
pub(in crate::store::sqlite) struct Json<T>(pub(in crate::store::sqlite) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0);
        text.map(Into::into).map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(FromSqlError::other)
    }
}
