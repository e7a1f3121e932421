//! The store that a command works on: where it is, and how it is opened.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::command::outcome::CommandError;
use crate::terminal::text::one_line;
use retry_workflow::SqliteStore;
use retry_workflow::store::SqliteOptions;

/// The name of a store in the current folder, where none is given.
pub(super) const STORE: &str = "retry-workflow.db";
/// Names the store where `--store` does not.
const STORE_VARIABLE: &str = "RETRY_WORKFLOW_STORE";

/// Where the store is: as given, as the environment says, or in this folder.
pub(super) fn path(given: Option<PathBuf>) -> PathBuf {
    given
        .or_else(|| std::env::var_os(STORE_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from(STORE))
}

/// The store, which is not made if it is not there: the name is misspelt.
pub(super) fn existing(path: &Path) -> Result<SqliteStore, CommandError> {
    if !path.exists() {
        return Err(CommandError::Usage(format!(
            "there is no store at {}: `retry-workflow run` makes one; name another with --store \
             PATH, or with {STORE_VARIABLE}",
            path.display()
        )));
    }
    options(path).must_exist(true).open(path).map_err(|error| CommandError::opening(&error))
}

/// The same, where nothing is to be changed: whoever may read its file may look at it.
pub(super) fn looked_at(path: &Path) -> Result<SqliteStore, CommandError> {
    if !path.exists() {
        return existing(path);
    }
    options(path).read_only(true).open(path).map_err(|error| CommandError::opening(&error))
}

/// The store, made if it is not there.
pub(super) fn opened(path: &Path) -> Result<SqliteStore, CommandError> {
    options(path).open(path).map_err(|error| CommandError::opening(&error))
}

/// Sets how long whoever holds a store is waited for.
pub(super) fn wait_at_most(busy_timeout: Duration) {
    BUSY_TIMEOUT.get_or_init(|| busy_timeout);
}

/// One answer for the process.
static BUSY_TIMEOUT: OnceLock<Duration> = OnceLock::new();

/// How stores are opened: whoever waits for another process is told so.
fn options(path: &Path) -> SqliteOptions {
    let most = *BUSY_TIMEOUT.get_or_init(|| Duration::from_secs(60));
    let (path, is_told) = (path.display().to_string(), AtomicBool::new(false));
    let tell = move |_| {
        if !is_told.swap(true, Ordering::Relaxed) {
            let line = format!(
                "waiting for the store {}, which another process holds: for up to {} (--busy-timeout)\n",
                one_line(&path),
                retry_rules::duration::format(most)
            );
            // Standard error may be closed.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        }
    };
    SqliteStore::options().busy_timeout(most).on_wait(tell)
}
