//! [`StoreError`]: what a store says when it cannot do its work.

use std::fmt;
use std::path::PathBuf;

/// Why a store could not do what it was asked for. Nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has held the store for too long.
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// There is no room left.
    Full {
        /// The store.
        path: PathBuf,
    },
    /// A newer version of this program has written the store.
    Newer {
        /// The store.
        path: PathBuf,
        /// The version of its layout.
        found: i64,
        /// The highest one that this program knows.
        known: i64,
    },
    /// There is no store where one has to be.
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is no store: it holds something else.
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    Corrupt {
        /// The store.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file cannot be opened, read or written.
    Access {
        /// The store.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// The store's own thread is gone.
    Closed,
    /// Anything else.
    Other {
        /// What was found.
        detail: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path } => write!(
                f,
                "the store {} is locked: another process holds it; try again when that one is done",
                path.display()
            ),
            Self::Full { path } => write!(
                f,
                "the store {} cannot grow: the disk is full, or a quota is used up; make room, \
                 then resume",
                path.display()
            ),
            Self::Newer { path, found, known } => write!(
                f,
                "the store {} has layout {found}, and this program knows those up to {known}: a newer \
                 retry-workflow wrote it; use that one. Nothing was changed",
                path.display()
            ),
            Self::Missing { path } => {
                write!(f, "there is no store at {}: check the path", path.display())
            }
            Self::Foreign { path } => write!(
                f,
                "{} is no store of retry-workflow: it holds something else; name another file. \
                 Nothing was changed",
                path.display()
            ),
            Self::Corrupt { path, detail } => write!(
                f,
                "the store {} is damaged ({detail}): restore it from a copy, or move it away to \
                 begin a new one. Nothing was changed",
                path.display()
            ),
            Self::Access { path, detail } => {
                write!(f, "the store {} cannot be used: {detail}", path.display())
            }
            Self::Closed => f.write_str("the store is closed: its thread has ended"),
            Self::Other { detail } => write!(f, "the store failed: {detail}"),
        }
    }
}

impl std::error::Error for StoreError {}
