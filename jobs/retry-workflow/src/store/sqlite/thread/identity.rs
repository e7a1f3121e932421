//! [`Identity`]: whether the file that is open is the one that its path names.

use std::path::Path;

/// The identity of the file, if the system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::sqlite) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// The identity of the file that is there now.
    pub(in crate::store::sqlite) fn of(path: &Path) -> Self {
        Self(file_identity(path))
    }

    /// Returns whether the file is still there.
    pub(in crate::store::sqlite) fn is_at(self, path: &Path) -> bool {
        self.0.is_none() || file_identity(path) == self.0
    }
}

/// Identifies the file that is there now, by its device and its number there; `None` if it is
/// missing, or the system does not report it.
#[cfg(unix)]
pub fn file_identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// An open file cannot be deleted there.
#[cfg(not(unix))]
pub fn file_identity(_: &Path) -> Option<(u64, u64)> {
    None
}
