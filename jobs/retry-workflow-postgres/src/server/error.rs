//! [`PostgresError`]: why a server could not do its work, and whether another attempt may help.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use deadpool_postgres::PoolError;
use retry_runtime::Interrupted;
use retry_workflow::StoreError;
use tokio_postgres::error::{DbError, SqlState};

/// The reason why a request to a Postgres server failed.
#[derive(Clone, Debug)]
pub struct PostgresError(Cause);

pub(crate) type PostgresResult<T> = Result<T, PostgresError>;

#[derive(Clone, Debug)]
enum Cause {
    /// From the server, or from the connection to it.
    Server(Arc<tokio_postgres::Error>),
    /// From a server that rejects writes. It is an outage if the server has accepted writes before.
    ReadOnly { error: Arc<tokio_postgres::Error>, is_outage: bool },
    /// The policy cut the attempt off, or the breaker did not let it begin.
    Interrupted(Interrupted),
    /// An error of the store itself, such as a schema that holds something else.
    Store(StoreError),
    /// From the pool, the address or the certificates.
    Other(Arc<dyn Error + Send + Sync>),
}

impl PostgresError {
    pub(crate) fn other(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Cause::Other(source.into().into()))
    }

    pub(crate) fn closed() -> Self {
        StoreError::Closed.into()
    }

    /// The pool provides no connection.
    pub(crate) fn pool(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            error => Self::other(error),
        }
    }

    /// The address of the server is not valid.
    pub(crate) fn address(error: &tokio_postgres::Error) -> Self {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        Self::other(format!(
            "the address is not valid ({why}): write it as \
             postgres://user:password@host:5432/database"
        ))
    }

    /// Returns whether this is an [`other`](Self::other) error of this type.
    #[cfg(feature = "fleet")]
    pub(crate) fn is<E: Error + 'static>(&self) -> bool {
        matches!(&self.0, Cause::Other(error) if error.is::<E>())
    }

    fn server(&self) -> Option<&tokio_postgres::Error> {
        match &self.0 {
            Cause::Server(error) | Cause::ReadOnly { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Marks an error of a server that rejects writes. `was_writable` is `true` if the server has
    /// accepted writes of this process before.
    pub(super) fn with_read_only(self, was_writable: bool) -> Self {
        match self.0 {
            Cause::Server(error) if rejects_writes(&error) => {
                Self(Cause::ReadOnly { error, is_outage: was_writable })
            }
            _ => self,
        }
    }

    fn answer(&self) -> Option<&DbError> {
        self.server().and_then(tokio_postgres::Error::as_db_error)
    }

    /// Returns the server's code (SQLSTATE), if the server has answered.
    pub fn code(&self) -> Option<&SqlState> {
        self.answer().map(DbError::code)
    }

    /// Returns whether the server has answered, and has changed nothing. One that is shutting down
    /// may have done what it can no longer report.
    pub(crate) fn is_answer(&self) -> bool {
        self.answer().is_some() && !self.ends_connection()
    }

    /// Returns whether the connection can still be used.
    pub(crate) fn leaves_connection(&self) -> bool {
        match &self.0 {
            Cause::Server(_) => self.is_answer(),
            // A read-only server may no longer be the primary, so reconnect.
            Cause::ReadOnly { .. } | Cause::Interrupted(_) => false,
            Cause::Store(_) | Cause::Other(_) => true,
        }
    }

    fn ends_connection(&self) -> bool {
        self.code()
            .is_some_and(|code| code.code().starts_with("57P") || code.code().starts_with("08"))
    }

    /// Returns `true` if the same may succeed a little later: after a lost connection, a server
    /// that starts, stops or has too many connections, a conflict with another transaction.
    pub fn is_transient(&self) -> bool {
        self.is_unreachable()
            || self.code().is_some_and(|code| {
                [
                    SqlState::T_R_SERIALIZATION_FAILURE,
                    SqlState::T_R_DEADLOCK_DETECTED,
                    SqlState::LOCK_NOT_AVAILABLE,
                    SqlState::QUERY_CANCELED,
                ]
                .contains(code)
            })
    }

    /// Returns `true` if the server could not be reached, or if it has become read-only, as during
    /// a failover.
    pub fn is_unreachable(&self) -> bool {
        match &self.0 {
            Cause::Interrupted(Interrupted::CircuitOpen { .. }) => true,
            Cause::ReadOnly { is_outage, .. } => *is_outage,
            Cause::Server(error) => match error.as_db_error() {
                Some(answer) => {
                    self.ends_connection() || *answer.code() == SqlState::TOO_MANY_CONNECTIONS
                }
                None => error.is_closed() || is_lost(error),
            },
            _ => false,
        }
    }

    /// Converts this to an error of the store with this name.
    pub(crate) fn into_store_error(self, name: &str) -> StoreError {
        let path = || PathBuf::from(name);
        let why = |text: &str| StoreError::access(path(), text);
        match &self.0 {
            Cause::Store(error) => return error.clone(),
            Cause::Interrupted(Interrupted::Value) | Cause::Other(_) => {}
            Cause::Interrupted(_) | Cause::ReadOnly { .. } => {
                return StoreError::access(path(), self);
            }
            Cause::Server(error) => {
                let Some(code) = error.code() else { return StoreError::access(path(), self) };
                if *code == SqlState::DISK_FULL {
                    return StoreError::Full { path: path() };
                }
                let pooled = [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT];
                if pooled.contains(code) {
                    return why(
                        "another connection answers than the one on which a statement was \
                         prepared: a pooler in transaction mode is in between. PgBouncer needs \
                         version 1.21 with max_prepared_statements, or pool_mode=session",
                    );
                }
                if *code == SqlState::UNDEFINED_TABLE {
                    return StoreError::Missing { path: path() };
                }
                return StoreError::access(path(), self);
            }
        }
        StoreError::access(path(), self)
    }
}

/// Returns whether the server rejects writes, in its answer to a statement or (with
/// `target_session_attrs=read-write`) to a connection.
fn rejects_writes(error: &tokio_postgres::Error) -> bool {
    if let Some(code) = error.code() {
        return *code == SqlState::READ_ONLY_SQL_TRANSACTION;
    }
    // The client library creates this error itself. An error of the system has a number.
    let source = error.source().and_then(|error| error.downcast_ref::<std::io::Error>());
    source.is_some_and(|error| {
        error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none()
    })
}

/// Returns whether the connection was lost. A certificate that is not trusted, or an answer in
/// another protocol, would be the same the next time.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return !matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput);
        }
        source = error.source();
    }
    false
}

impl fmt::Display for PostgresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Server(error) => match error.as_db_error() {
                Some(answer) => {
                    write!(f, "{}", answer.message())?;
                    if let Some(detail) = answer.detail() {
                        write!(f, " ({detail})")?;
                    }
                    write!(f, " [SQLSTATE {}]", answer.code().code())
                }
                None => write!(f, "{error}"),
            },
            Cause::ReadOnly { .. } => f.write_str(
                "the server is read-only, because it is a standby or is configured so: name the \
                 primary (with several hosts in the address, add target_session_attrs=read-write)",
            ),
            Cause::Interrupted(interrupted) => write!(f, "{interrupted}"),
            Cause::Store(error) => write!(f, "{error}"),
            Cause::Other(error) => write!(f, "{error}"),
        }
    }
}

impl Error for PostgresError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Cause::Server(error) => error.source(),
            Cause::Store(error) => error.source(),
            Cause::Interrupted(_) | Cause::ReadOnly { .. } => None,
            Cause::Other(error) => error.source(),
        }
    }
}

retry_rules::conversion!(|error: tokio_postgres::Error| -> PostgresError {
    Self(Cause::Server(Arc::new(error)))
});
retry_rules::conversion!(|interrupted: Interrupted| -> PostgresError {
    Self(Cause::Interrupted(interrupted))
});
retry_rules::conversion!(|error: StoreError| -> PostgresError { Self(Cause::Store(error)) });
