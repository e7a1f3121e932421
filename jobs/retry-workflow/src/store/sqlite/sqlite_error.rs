//! The meaning of SQLite's errors for a store.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;

/// Converts an error that SQLite reported about this file.
pub(super) fn store_error(path: &Path, error: &Error) -> StoreError {
    // Only the text: SQLite's errors repeat what their sources say.
    let source = error.to_string();
    let path = path.to_path_buf();
    let (code, extended) = match error {
        Error::SqliteFailure(failure, _) => (failure.code, failure.extended_code),
        // A row holds something that this program does not write.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => return StoreError::corrupt(path, source),
        _ => return StoreError::other(source),
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked { path },
        ErrorCode::DiskFull => StoreError::Full { path },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::corrupt(path, source),
        // The file is shorter than it says.
        ErrorCode::SystemIoFailure if extended == ffi::SQLITE_IOERR_SHORT_READ => {
            StoreError::corrupt(path, source)
        }
        ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::SystemIoFailure => StoreError::access(path, source),
        _ => StoreError::other(source),
    }
}
