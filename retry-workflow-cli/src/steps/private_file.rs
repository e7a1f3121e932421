//! Files with data of items, which may be secret: as the store itself, a new one is accessible only
//! to the user who creates it.

use std::fs::OpenOptions;

/// Options that create files for their owner alone.
pub(crate) fn for_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
