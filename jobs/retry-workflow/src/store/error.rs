//! [`StoreError`]: why a store cannot do its work.

use std::error::Error;
use std::fmt;
use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::Arc;

use super::MAX_ID_BYTES;
use crate::item::sanitize::OneLine;
use crate::words::thousands;

/// The reason why an operation of a store failed. A failed operation has changed nothing.
///
/// `Display` states what happened and what to do; [`source`](Error::source) has the cause, if there
/// is one. Two errors are equal if they are of the same kind and display the same.
///
/// ```
/// use retry_workflow::StoreError;
///
/// let error = StoreError::Closed;
/// assert_eq!(error.to_string(), "the store is closed: its thread has ended");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has held the store for too long.
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// The disk is full, or a quota is used up.
    Full {
        /// The store.
        path: PathBuf,
    },
    /// A newer version of this program wrote the store.
    Newer {
        /// The store.
        path: PathBuf,
        /// The layout that was found.
        found: i64,
        /// The newest layout that this program knows.
        known: i64,
    },
    /// The tables of the store lack columns of the layout that it says it has: a program between
    /// two versions wrote it.
    LacksColumns {
        /// The store.
        path: PathBuf,
        /// The layout that it says it has.
        layout: u32,
        /// The missing columns, as `table.column`.
        columns: Vec<String>,
    },
    /// A store that must exist does not.
    Missing {
        /// The path where it was searched for.
        path: PathBuf,
    },
    /// The file was deleted or replaced while the store was open: work done since then may be lost.
    Replaced {
        /// The path where it was.
        path: PathBuf,
    },
    /// The file is not a store: it holds something else.
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    Corrupt {
        /// The store.
        path: PathBuf,
        /// The mistake in it.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The file cannot be opened, read or written.
    Access {
        /// The store.
        path: PathBuf,
        /// The reason.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The id of an item or a job is longer than [`MAX_ID_BYTES`](crate::store::MAX_ID_BYTES).
    LongId {
        /// Its beginning.
        begin: String,
        /// Its length.
        bytes: usize,
    },
    /// The store's own thread is gone.
    Closed,
    /// Anything else.
    Other {
        /// The cause.
        source: Arc<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// Creates an [`Access`](Self::Access) with this reason.
    pub fn access(
        path: impl Into<PathBuf>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Access { path: path.into(), source: source.into().into() }
    }

    /// Creates a [`Corrupt`](Self::Corrupt) with this reason.
    pub fn corrupt(
        path: impl Into<PathBuf>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Corrupt { path: path.into(), source: source.into().into() }
    }

    /// Creates an [`Other`](Self::Other) with this reason: a text, or another error.
    ///
    /// ```
    /// use retry_workflow::StoreError;
    ///
    /// let error = StoreError::other("the connection was closed");
    /// assert_eq!(error.to_string(), "the store failed: the connection was closed");
    /// ```
    pub fn other(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Other { source: source.into().into() }
    }
}

impl PartialEq for StoreError {
    fn eq(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other) && self.to_string() == other.to_string()
    }
}

impl Eq for StoreError {}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path } => write!(
                f,
                "the store {} is locked by another process: try again when that process is done",
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
                "the store {} has layout {found}, but this program only knows layouts up to \
                 {known}: a newer retry-workflow wrote it, so use that version. Nothing was \
                 changed",
                path.display()
            ),
            Self::LacksColumns { path, layout, columns } => write!(
                f,
                "the store {} says that it has layout {layout}, but lacks {}: a program between two \
                 versions wrote it. Finish its jobs with that program, or name another file to \
                 start over. Nothing was changed",
                path.display(),
                columns.join(", ")
            ),
            Self::Missing { path } => {
                write!(f, "there is no store at {}: check the path", path.display())
            }
            Self::Replaced { path } => write!(
                f,
                "the store {} was deleted or replaced while it was open: work done since then is \
                 not in the file that is there now",
                path.display()
            ),
            Self::Foreign { path } => write!(
                f,
                "{} is not a retry-workflow store, but holds something else: name another file. \
                 Nothing was changed",
                path.display()
            ),
            Self::Corrupt { path, source } => write!(
                f,
                "the store {} is damaged ({source}): restore it from a backup, or move it away to \
                 start a new one. Nothing was changed",
                path.display()
            ),
            Self::Access { path, source } => {
                write!(f, "the store {} cannot be used: {source}", path.display())
            }
            Self::LongId { begin, bytes } => write!(
                f,
                "the id \"{}\" is {} bytes long, and {} are the most in any store: use a shorter \
                 one, such as a number or a hash",
                OneLine(begin),
                thousands(u64::try_from(*bytes).unwrap_or(u64::MAX)),
                thousands(MAX_ID_BYTES as u64),
            ),
            Self::Closed => f.write_str("the store is closed: its thread has ended"),
            Self::Other { source } => write!(f, "the store failed: {source}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // These already display the inner error, so continue with its source.
            Self::Corrupt { source, .. } | Self::Access { source, .. } | Self::Other { source } => {
                source.source()
            }
            _ => None,
        }
    }
}
