//! [`Identity`]: whether the file that is open is the one that its path names.

use std::path::Path;

/// Which file it is, where the system says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// That of the file which is there now.
    pub(super) fn of(path: &Path) -> Self {
        Self(identity(path))
    }

    /// Whether it still is there.
    pub(super) fn is_at(self, path: &Path) -> bool {
        self.0.is_none() || identity(path) == self.0
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Nobody deletes a file there while it is open.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}
