//! The reading and writing of columns.

use std::time::Duration;

use retry_workflow::Failure;
use retry_workflow::store::sql::{Columns, SqlRow};
use tokio_postgres::types::{FromSqlOwned, Type};
use tokio_postgres::{Column, Row};

use super::error::PostgresError;
use super::text::decode;

/// A row, as the readers that stores in SQL share take it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostgresRow<'a>(&'a Row);

impl SqlRow for PostgresRow<'_> {
    type Error = PostgresError;

    fn integer(&self, at: usize) -> Result<Option<i64>, PostgresError> {
        Ok(match self.0.columns().get(at).map(Column::type_) {
            Some(&Type::INT2) => column::<Option<i16>>(self.0, at)?.map(Into::into),
            Some(&Type::INT4) => column::<Option<i32>>(self.0, at)?.map(Into::into),
            _ => column(self.0, at)?,
        })
    }

    fn text(&self, at: usize) -> Result<Option<String>, PostgresError> {
        text_opt(self.0, at)
    }

    fn invalid(&self, _: usize, problem: String) -> PostgresError {
        PostgresError::other(problem)
    }
}

/// The columns of a row.
pub(crate) fn columns(row: &Row) -> Columns<PostgresRow<'_>> {
    Columns::new(PostgresRow(row))
}

/// The columns of a row, after one of the lists of columns.
pub(crate) fn columns_after<'a>(row: &'a Row, list: &str) -> Columns<PostgresRow<'a>> {
    Columns::after(PostgresRow(row), list)
}

/// The value of a row in this column.
pub(crate) fn column<T: FromSqlOwned>(row: &Row, at: usize) -> Result<T, PostgresError> {
    Ok(row.try_get(at)?)
}

/// The text of a row in this column.
pub(crate) fn text(row: &Row, at: usize) -> Result<String, PostgresError> {
    column(row, at).map(decode)
}

/// The text of a row in this column, if it is not null.
pub(crate) fn text_opt(row: &Row, at: usize) -> Result<Option<String>, PostgresError> {
    Ok(column::<Option<String>>(row, at)?.map(decode))
}

/// A failure from its stored form.
pub(crate) fn read_json(json: &str) -> Result<Failure, PostgresError> {
    serde_json::from_str(json).map_err(PostgresError::other)
}

/// A number that is never negative.
pub(crate) fn unsigned(row: &Row, at: usize) -> Result<u64, PostgresError> {
    column::<i64>(row, at).map(|number| u64::try_from(number).unwrap_or(0))
}

/// A number, at most as large as a `u32`.
#[cfg(feature = "fleet")]
pub(crate) fn small(row: &Row, at: usize) -> Result<u32, PostgresError> {
    column::<i64>(row, at).map(|number| u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// A duration in microseconds, capped at what the column can hold.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// A row limit for a statement.
pub(crate) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
