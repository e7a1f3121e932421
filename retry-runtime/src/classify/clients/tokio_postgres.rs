//! tokio-postgres 0.7: the SQLSTATE, in whatever language the server speaks.

use ::tokio_postgres::Error;
use ::tokio_postgres::error::DbError;

use crate::classify::{Class, KnownError, sqlstate};

impl KnownError for Error {
    fn known_class(&self) -> Option<Class> {
        // An error of the server is the source of this one, and is classified there.
        self.is_closed().then_some(Class::NETWORK)
    }
}

impl KnownError for DbError {
    fn known_class(&self) -> Option<Class> {
        sqlstate::with_message(self.code().code(), self.message())
    }
}
