//! The reading and writing of columns.

use rusqlite::types::{ToSql, ToSqlOutput, Type};
use rusqlite::{Error, Result, Row};
use serde::Serialize;

use crate::store::sql::SqlRow;

impl SqlRow for &Row<'_> {
    type Error = Error;

    fn integer(&self, column: usize) -> Result<Option<i64>> {
        self.get(column)
    }

    fn text(&self, column: usize) -> Result<Option<String>> {
        self.get(column)
    }

    fn invalid(&self, column: usize, problem: String) -> Error {
        Error::FromSqlConversionFailure(column, Type::Null, problem.into())
    }
}

/// A value that a column stores as JSON.
pub(in crate::store::sqlite) struct Json<T>(pub(in crate::store::sqlite) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        json(&self.0).map(Into::into)
    }
}

/// Returns a value as JSON.
pub(in crate::store::sqlite) fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value);
    text.map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))
}
