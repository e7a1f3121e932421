//! What SQLite's errors mean for a store.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;

/// The store's error, for one of SQLite's while it worked on this file.
pub(super) fn of(path: &Path, error: &Error) -> StoreError {
    let path = path.to_path_buf();
    let detail = error.to_string();
    let (code, extended) = match error {
        Error::SqliteFailure(failure, _) => (failure.code, failure.extended_code),
        // A row that holds what this program does not write.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => return StoreError::Corrupt { path, detail },
        _ => return StoreError::Other { detail },
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked { path },
        ErrorCode::DiskFull => StoreError::Full { path },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            StoreError::Corrupt { path, detail }
        }
        // The file is shorter than it says.
        ErrorCode::SystemIoFailure if extended == ffi::SQLITE_IOERR_SHORT_READ => {
            StoreError::Corrupt { path, detail }
        }
        ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::SystemIoFailure => StoreError::Access { path, detail },
        _ => StoreError::Other { detail },
    }
}
