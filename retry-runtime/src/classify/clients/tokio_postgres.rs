//! tokio-postgres 0.7: the SQLSTATE, in whatever language the server speaks.

use ::tokio_postgres::Error;
use ::tokio_postgres::error::DbError;

use crate::classify::{Class, Known, sqlstate};

impl Known for Error {
    fn known(&self) -> Option<Class> {
        // An error of the server is the source of this one, and is classified there.
        self.is_closed().then_some(Class::NETWORK)
    }
}

impl Known for DbError {
    fn known(&self) -> Option<Class> {
        sqlstate::with_message(self.code().code(), self.message())
    }
}
