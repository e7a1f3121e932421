//! sqlx 0.8 and 0.9, through the crate of its core, which all of its drivers share: the SQLSTATE
//! of Postgres and `MySQL`, the result code of `SQLite`.

use crate::classify::{Class, KnownError, sqlstate};
use crate::outcome::interrupted::Interrupted;

macro_rules! known {
    ($core:ident) => {
        impl KnownError for ::$core::Error {
            fn known_class(&self) -> Option<Class> {
                use ::$core::Error;

                match self {
                    // The inner error is more specific.
                    Error::Database(_) | Error::Io(_) | Error::Tls(_) => None,
                    // No connection was there to send a statement on.
                    Error::PoolTimedOut => Some(Class::TIMEOUT | Class::NETWORK | Class::CONNECT),
                    _ => Some(Class::empty()),
                }
            }
        }

        impl From<Interrupted> for ::$core::Error {
            fn from(interrupted: Interrupted) -> Self {
                Self::Io(interrupted.into())
            }
        }

        impl KnownError for Box<dyn ::$core::error::DatabaseError> {
            fn known_class(&self) -> Option<Class> {
                let code = self.code()?;
                match code.parse() {
                    // A SQLSTATE has five characters; SQLite's codes are smaller.
                    Ok(number) if code.len() < 5 => Some(sqlstate::sqlite(number)),
                    _ => sqlstate::with_message(&code, self.message()),
                }
            }
        }
    };
}

#[cfg(feature = "sqlx-0_8")]
known!(sqlx_core_0_8);
#[cfg(feature = "sqlx-0_9")]
known!(sqlx_core_0_9);

#[cfg(test)]
mod tests {
    use crate::classify::clients::tests::keeps_interruptions;

    #[test]
    fn an_interruption_survives_in_an_io_error_of_sqlx() {
        #[cfg(feature = "sqlx-0_8")]
        keeps_interruptions::<sqlx_core_0_8::Error>();
        #[cfg(feature = "sqlx-0_9")]
        keeps_interruptions::<sqlx_core_0_9::Error>();
    }
}
