//! The store that a command works on: its location, its kind, and how it is opened.

#[cfg(feature = "postgres")]
mod postgres;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::command::outcome::CommandError;
use crate::terminal::text::{argument, one_line};
#[cfg(feature = "board")]
use retry_workflow::store::file_identity;
use retry_workflow::store::{IntoStore, SqliteOptions, StoreCheck};
use retry_workflow::{SqliteStore, Store, StoreError};
#[cfg(feature = "postgres")]
use retry_workflow_postgres::PostgresStore;

/// The store file in the current folder that is used if none is named.
const STORE: &str = "retry-workflow.db";
/// The variable that names the store if `--store` does not.
const STORE_VARIABLE: &str = "RETRY_WORKFLOW_STORE";

/// The location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Server),
}

/// The identity of a file: its device, and its number there.
#[cfg(feature = "board")]
pub(super) type FileId = (u64, u64);

impl Address {
    /// Chooses the given store, the one that the environment names, or the file in this folder.
    pub(super) fn choose(address: Option<OsString>) -> Result<Self, CommandError> {
        if let Some(address) = address {
            return Self::named("--store", &address);
        }
        match std::env::var_os(STORE_VARIABLE).filter(|it| !it.is_empty()) {
            Some(address) => Self::named(STORE_VARIABLE, &address),
            None => Ok(Self::File(STORE.into())),
        }
    }

    /// Reads an address; `argument` is the name of the argument in error messages.
    pub(super) fn named(argument: &str, address: &OsStr) -> Result<Self, CommandError> {
        Self::read(address).map_err(|why| CommandError::Usage(format!("{argument}: {why}")))
    }

    /// Reads `FILE`, `sqlite:FILE` or `postgres://…`.
    fn read(address: &OsStr) -> Result<Self, String> {
        let Some(text) = address.to_str() else { return Ok(Self::File(address.into())) };
        if let Some(file) = text.strip_prefix("sqlite:") {
            let file = file.strip_prefix("//").unwrap_or(file);
            return if file.is_empty() {
                Err("`sqlite:` needs a file: write sqlite:jobs.db".to_owned())
            } else {
                Ok(Self::File(file.into()))
            };
        }
        if let Some(scheme) =
            ["postgres:", "postgresql:"].iter().find(|scheme| text.starts_with(**scheme))
            && !text.starts_with(&format!("{scheme}//"))
        {
            return Err(format!(
                "`{text}` is no address of a server: write one such as \
                 {scheme}//user@db.example.com/jobs"
            ));
        }
        match text.split_once("://") {
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", _)) => {
                Ok(Self::Postgres(postgres::Server::read(text)))
            }
            #[cfg(not(feature = "postgres"))]
            Some(("postgres" | "postgresql", _)) => Err("this retry-workflow was built without Postgres: build it with the feature `postgres`"
                .to_owned()),
            // The rest of the address may contain a password.
            Some((scheme, _)) => Err(format!(
                "`{}://` is not a kind of store: write FILE, sqlite:FILE or \
                 postgres://user@host/database",
                one_line(scheme)
            )),
            None => Ok(Self::File(address.into())),
        }
    }

    /// Identifies the file that is there now; `None` if it is missing, or the system does not
    /// report it.
    #[cfg(feature = "board")]
    pub(super) fn file_id(&self) -> Option<FileId> {
        match self {
            Self::File(path) => file_identity(path),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// The `--store` option for this store, with a leading space; empty if the store is found
    /// without it.
    pub(super) fn flag(&self) -> String {
        match self {
            Self::File(path) if path == Path::new(STORE) => String::new(),
            #[cfg(feature = "postgres")]
            Self::Postgres(server)
                if std::env::var(STORE_VARIABLE)
                    .is_ok_and(|it| postgres::Server::read(&it) == *server) =>
            {
                String::new()
            }
            _ => format!(" --store {}", argument(&self.to_string())),
        }
    }

    /// Opens the store. It is not created: if it does not exist, its name is probably misspelt.
    pub(super) async fn open(&self) -> Result<Arc<dyn Store>, CommandError> {
        match self {
            Self::File(path) => sqlite(existing(path)?, |options| options.must_exist(true)).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => connect(server, true).await.map(IntoStore::into_store),
        }
    }

    /// Opens the store without changing it; read access to its file is enough.
    pub(super) async fn open_read_only(&self) -> Result<Arc<dyn Store>, CommandError> {
        match self {
            Self::File(path) => sqlite(existing(path)?, |options| options.read_only(true)).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => self.open().await,
        }
    }

    /// Opens the store, and creates it if it does not exist.
    pub(super) async fn open_or_create(&self) -> Result<Arc<dyn Store>, CommandError> {
        match self {
            Self::File(path) => sqlite(path, |options| options).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => connect(server, false).await.map(IntoStore::into_store),
        }
    }

    /// Checks the whole store.
    pub(super) async fn check(&self) -> Result<StoreCheck, CommandError> {
        match self {
            Self::File(path) => {
                let path = existing(path)?.to_owned();
                blocking(move || SqliteStore::check(path)).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => Ok(connect(server, true).await?.check().await?),
        }
    }

    /// The SQL statements that create a store; `role` is the role of the workers.
    pub(super) fn sql(&self, role: Option<&str>) -> Result<String, CommandError> {
        match (self, role) {
            (Self::File(_), None) => Ok(SqliteStore::sql()),
            (Self::File(_), Some(_)) => Err(CommandError::Usage(
                "--role is for Postgres only: a file has no roles".to_owned(),
            )),
            #[cfg(feature = "postgres")]
            (Self::Postgres(server), Some(role)) => Ok(server.sql(role)),
            #[cfg(feature = "postgres")]
            (Self::Postgres(_), None) => Err(CommandError::Usage(
                "name the role of the workers that may use the tables: --role NAME".to_owned(),
            )),
        }
    }

    /// Returns the space of removed data to the disk; returns the size in bytes, before and after.
    pub(super) async fn vacuum(&self) -> Result<(u64, u64), CommandError> {
        match self {
            Self::File(path) => {
                drop(self.open().await?);
                let path = path.clone();
                blocking(move || SqliteStore::vacuum(path)).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Err(CommandError::Usage(
                "a server reclaims space by itself (autovacuum): `vacuum` is for files".to_owned(),
            )),
        }
    }
}

/// Without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.fmt(f),
        }
    }
}

fn existing(path: &Path) -> Result<&Path, CommandError> {
    if path.exists() { Ok(path) } else { Err(missing(&path.display())) }
}

fn missing(store: &dyn fmt::Display) -> CommandError {
    if store.to_string() == STORE {
        return CommandError::Usage(format!(
            "no job has run yet: there is no store at {STORE} in this folder, and `retry-workflow run \
             FILE` creates one; name another with --store STORE, or with {STORE_VARIABLE}"
        ));
    }
    CommandError::Usage(format!(
        "there is no store at {store}: `retry-workflow run` creates one; name another with --store \
         STORE, or with {STORE_VARIABLE}"
    ))
}

#[cfg(feature = "postgres")]
async fn connect(
    server: &postgres::Server,
    must_exist: bool,
) -> Result<PostgresStore, CommandError> {
    let opened = server.connect(must_exist).await.map_err(|error| match error {
        StoreError::Missing { .. } => missing(server),
        error => CommandError::opening(&error),
    });
    if opened.is_ok() {
        postgres::report_outages(report_wait);
    }
    opened
}

/// Opens a file.
async fn sqlite(
    path: &Path,
    how: impl FnOnce(SqliteOptions) -> SqliteOptions,
) -> Result<Arc<dyn Store>, CommandError> {
    let (path, options) = (path.to_owned(), how(options(path)));
    blocking(move || options.open(path)).await.map(IntoStore::into_store)
}

/// Runs a blocking operation on a file, which may have to wait for another process.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, CommandError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| CommandError::opening(&error)),
        Err(error) => Err(CommandError::Stopped(error.to_string())),
    }
}

/// The time to wait for a process that has locked the store. Set once per process.
pub(super) static BUSY_TIMEOUT: OnceLock<Duration> = OnceLock::new();

/// The options with which files are opened: a wait for another process is reported.
fn options(path: &Path) -> SqliteOptions {
    let most = *BUSY_TIMEOUT.get_or_init(|| Duration::from_secs(60));
    let (path, has_notified) = (path.display().to_string(), AtomicBool::new(false));
    let notify = move |_| {
        let line = (!has_notified.swap(true, Ordering::Relaxed)).then(|| {
            format!(
                "waiting up to {} (--busy-timeout) for the store {}, which another process has \
                 locked",
                retry_rules::duration::format(most),
                one_line(&path)
            )
        });
        report_wait(line.as_deref());
    };
    SqliteStore::options().busy_timeout(most).on_wait(notify)
}

/// Reports a wait for a store, the first time with a line, to the job that is running or to
/// standard error.
fn report_wait(line: Option<&str>) {
    match (&*LISTENER.lock(), line) {
        (Some(listener), line) => listener(line),
        (None, Some(line)) => {
            // Ignore errors, because standard error may be closed.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        (None, None) => {}
    }
}

/// Called every second during a wait for a store, the first time with a message to show.
type WaitListener = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// The listener of the job that is running.
static LISTENER: Mutex<Option<WaitListener>> = Mutex::new(None);

/// Reports waits for the store to a job, until the guard is dropped.
pub(super) fn on_wait(listen: impl Fn(Option<&str>) + Send + Sync + 'static) -> WaitListenerGuard {
    *LISTENER.lock() = Some(Box::new(listen));
    WaitListenerGuard
}

/// Removes the listener when dropped.
pub(super) struct WaitListenerGuard;

impl Drop for WaitListenerGuard {
    fn drop(&mut self) {
        *LISTENER.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Address, String> {
        Address::read(OsStr::new(text))
    }

    #[test]
    fn an_address_without_a_scheme_is_a_file() {
        for (text, path) in [
            ("jobs.db", "jobs.db"),
            ("sqlite:jobs.db", "jobs.db"),
            ("sqlite:///var/lib/jobs.db", "/var/lib/jobs.db"),
            ("./sqlite:jobs.db", "./sqlite:jobs.db"),
            ("C:\\jobs.db", "C:\\jobs.db"),
        ] {
            assert_eq!(read(text), Ok(Address::File(path.into())), "{text}");
        }
        assert!(read("sqlite:").unwrap_err().contains("write sqlite:jobs.db"));
    }

    #[test]
    fn an_address_that_is_refused_is_not_repeated_with_its_password() {
        let why = read("mysql://me:secret@host/jobs").unwrap_err();
        assert!(why.starts_with("`mysql://` is not a kind of store") && !why.contains("secret"));
    }

    #[test]
    fn hints_name_a_store_that_is_not_the_usual_one() {
        assert_eq!(read(STORE).unwrap().flag(), "");
        assert_eq!(read("sqlite:my jobs.db").unwrap().flag(), " --store 'my jobs.db'");
    }
}
