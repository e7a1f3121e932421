//! The reading and writing of columns.

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
        Ok(column::<Option<String>>(self.0, at)?.map(decode))
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
