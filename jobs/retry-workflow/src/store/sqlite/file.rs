//! Finding, checking and opening the file of a store. A file that is not a store, or one of a newer
//! version, is left as it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};

use super::layout::{APPLICATION, LAYOUT, Layout, columns};
use super::{SqliteOptions, Synchronous, sqlite_error};
use crate::store::{StoreError, StoreResult};

/// The page cache of the writing connection, in KiB.
const CACHE: i64 = 16 * 1024;

/// In pages: the log is checkpointed once it is this long, at the cost of a wait for the disk.
const CHECKPOINT_AFTER: i64 = 4000;

/// In bytes: a log that was once longer is truncated.
const LOG_LIMIT: i64 = 64 * 1024 * 1024;

/// In bytes: no SQLite file is shorter.
const HEADER: u64 = 100;

/// In bytes.
const PAGE: i64 = 4096;

/// SQLite's name for a database in memory.
pub(super) const IN_MEMORY: &str = ":memory:";

/// The absolute path of a store that can be opened or created there.
pub(super) fn located(path: &Path, must_exist: bool) -> StoreResult<PathBuf> {
    // `:memory:` and `file:…` mean something else to SQLite than to people, so make the path
    // absolute.
    let absolute = std::path::absolute(path).map_err(|error| StoreError::access(path, error))?;
    match std::fs::metadata(&absolute) {
        Ok(found) if found.is_dir() => {
            return Err(StoreError::access(path, "it is a folder: name a file in it"));
        }
        Ok(found) if !found.is_file() => {
            return Err(StoreError::access(path, "it is not a regular file"));
        }
        Ok(found) if found.len() == 0 && must_exist => {
            return Err(StoreError::Missing { path: absolute });
        }
        // SQLite takes a file of one byte for an empty one, and would overwrite it.
        Ok(found) if (1..HEADER).contains(&found.len()) => {
            return Err(StoreError::Foreign { path: absolute });
        }
        Ok(_) => return Ok(absolute),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(StoreError::access(path, error)),
    }
    if must_exist {
        return Err(StoreError::Missing { path: absolute });
    }
    match absolute.parent() {
        Some(folder) if !folder.is_dir() => {
            let reason = format!("there is no folder {}: create it first", folder.display());
            Err(StoreError::access(path, reason))
        }
        _ => Ok(absolute),
    }
}

/// Opens the connection that writes; afterwards the store exists and has its tables.
pub(super) fn open_to_write(path: &Path, options: &SqliteOptions) -> StoreResult<Connection> {
    refuse_others(path, options.layout)?;
    let named = |error| sqlite_error::store_error(path, &error);
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, !options.must_exist);
    if !options.must_exist {
        create_for_owner(path)?;
    }
    let mut connection = connect(path, flags, options).map_err(named)?;
    if connection.is_readonly("main").map_err(named)? {
        let reason = "it can be read, but not written: give its user permission to write it";
        return Err(StoreError::access(path, reason));
    }
    prepare(path, &mut connection, options)?;
    Ok(connection)
}

/// Creates an empty store in memory.
pub(super) fn open_in_memory(options: &SqliteOptions) -> StoreResult<Connection> {
    let path = Path::new(IN_MEMORY);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, options)
        .map_err(|error| sqlite_error::store_error(path, &error))?;
    prepare(path, &mut connection, options)?;
    Ok(connection)
}

/// Opens a connection that one thread uses at a time.
fn connect(path: &Path, flags: OpenFlags, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(options.patience.at_a_time())?;
    connection.set_prepared_statement_cache_capacity(64);
    // Without it, a statement is compiled again for each new value of a parameter that may select
    // a partial index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Payloads may be secrets: a new file is accessible only to the user who creates it, and so are
/// those that SQLite puts beside it.
fn create_for_owner(path: &Path) -> StoreResult<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let created = match options.open(path) {
        // A link to a file that is not there yet: what it names is created in the same way.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && !path.exists() => {
            options.create_new(false).create(true).open(path)
        }
        created => created,
    };
    match created {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::access(path, error))
        }
        // An existing file is left alone.
        _ => Ok(()),
    }
}

/// Opens a read-only connection to a store, if the options ask for one and the layout is this
/// program's.
pub(super) fn open_to_look(
    path: &Path,
    options: &SqliteOptions,
) -> StoreResult<Option<Connection>> {
    if !options.read_only {
        return Ok(None);
    }
    let (connection, layout) = open_any_to_look(path, options)?;
    Ok((layout == options.layout.version()).then_some(connection))
}

/// Opens a read-only connection to a store of any layout, and returns that layout.
pub(super) fn open_any_to_look(
    path: &Path,
    options: &SqliteOptions,
) -> StoreResult<(Connection, usize)> {
    refuse_others(path, options.layout)?;
    let open = |path: &Path, more| {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY | more, options)?;
        let marks = Marks::at_once(&connection)?;
        Ok((connection, marks))
    };
    let opened = match open(path, OpenFlags::empty()) {
        // No file may be created beside it, and it has no log.
        Err(Error::SqliteFailure(failure, _))
            if matches!(failure.code, ErrorCode::CannotOpen | ErrorCode::ReadOnly)
                && !log_of(path).exists() =>
        {
            open(Path::new(&as_uri(path)), OpenFlags::SQLITE_OPEN_URI)
        }
        opened => opened,
    };
    let (connection, marks) = opened.map_err(|error| sqlite_error::store_error(path, &error))?;
    let layout = marks.fitting_layout(path, options.layout)?;
    if layout == 0 {
        return Err(StoreError::Missing { path: path.to_path_buf() });
    }
    Ok((connection, layout))
}

/// Returns where SQLite keeps what is not yet in the file.
fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Opens the connection that reads, to an existing store.
pub(super) fn open_to_read(path: &Path, options: &SqliteOptions) -> StoreResult<Connection> {
    let open = || {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, options)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    open().map_err(|error| sqlite_error::store_error(path, &error))
}

/// Rewrites the file without what was removed. Returns its size before and after, in bytes.
pub(super) fn vacuum(path: &Path, options: &SqliteOptions) -> StoreResult<(u64, u64)> {
    let connection = open_to_write(path, options)?;
    let vacuum = || {
        // Checkpoints the log first, so that the size of the file is all there is.
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        let before = bytes(&connection)?;
        connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok((before, bytes(&connection)?))
    };
    vacuum().map_err(|error| sqlite_error::store_error(path, &error))
}

pub(super) fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pages: u64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let size: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(pages.saturating_mul(size))
}

/// The identification of a file.
struct Marks {
    application: i64,
    version: i64,
    /// Set if there is anything in it.
    has_tables: bool,
    columns: BTreeSet<String>,
}

impl Marks {
    /// Reads all marks in one snapshot: another process may be turning the file into a store, or
    /// migrating it, just now.
    fn at_once(connection: &Connection) -> rusqlite::Result<Self> {
        Self::read(&*connection.unchecked_transaction()?)
    }

    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |sql| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
        Ok(Self {
            application: number("PRAGMA application_id")?,
            version: number("PRAGMA user_version")?,
            has_tables: number("SELECT count(*) FROM sqlite_schema")? > 0,
            columns: columns(connection)?,
        })
    }

    /// Returns the layout of the store; 0 if it is empty. A store whose tables do not fit its
    /// layout is refused, before anything is changed or left out.
    fn fitting_layout(&self, path: &Path, known: &Layout) -> StoreResult<usize> {
        let layout = self.layout(path, known)?;
        let columns = known
            .missing_columns(&self.columns, layout)
            .map_err(|error| sqlite_error::store_error(path, &error))?;
        if columns.is_empty() {
            return Ok(layout);
        }
        let layout = u32::try_from(layout).unwrap_or(u32::MAX);
        Err(StoreError::LacksColumns { path: path.to_path_buf(), layout, columns })
    }

    /// The layout that the file says it has; 0 if there is nothing yet.
    fn layout(&self, path: &Path, known: &Layout) -> StoreResult<usize> {
        let path = || path.to_path_buf();
        if self.application != APPLICATION && (self.application != 0 || self.has_tables) {
            return Err(StoreError::Foreign { path: path() });
        }
        if self.application != APPLICATION {
            return Ok(0);
        }
        match usize::try_from(self.version) {
            Ok(layout) if (1..=known.version()).contains(&layout) => Ok(layout),
            Ok(1..) => {
                let known = i64::try_from(known.version()).unwrap_or(i64::MAX);
                Err(StoreError::Newer { path: path(), found: self.version, known })
            }
            // No version of this program wrote that.
            _ => {
                let why = format!("its layout is {}, but the first layout is 1", self.version);
                Err(StoreError::corrupt(path(), why))
            }
        }
    }
}

/// Looks at a file without touching it: no lock, no log, no recovery.
///
/// Goes through SQLite instead of reading the file: closing the file by other means would release
/// the locks that this process may hold on it.
fn refuse_others(path: &Path, known: &Layout) -> StoreResult<()> {
    if !path.exists() {
        return Ok(());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let marks = Connection::open_with_flags(as_uri(path), flags)
        .and_then(|connection| Marks::at_once(&connection));
    match marks {
        Ok(marks) => marks.layout(path, known).map(drop),
        Err(Error::SqliteFailure(failure, _)) if failure.code == ErrorCode::NotADatabase => {
            Err(StoreError::Foreign { path: path.to_path_buf() })
        }
        // Another process may be writing it just now. Opening it the usual way will show.
        Err(_) => Ok(()),
    }
}

/// The URI that opens a file as immutable.
fn as_uri(path: &Path) -> String {
    const ESCAPED: AsciiSet =
        NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b':');

    let path = percent_encode(path.as_os_str().as_encoded_bytes(), &ESCAPED).to_string();
    let path = if cfg!(windows) { path.replace("%5C", "/") } else { path };
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("file://{root}{path}?immutable=1")
}

fn prepare(path: &Path, connection: &mut Connection, options: &SqliteOptions) -> StoreResult<()> {
    let named = |error| sqlite_error::store_error(path, &error);
    let layout = Marks::at_once(connection).map_err(named)?.fitting_layout(path, options.layout)?;
    if layout == 0 && options.must_exist {
        return Err(StoreError::Missing { path: path.to_path_buf() });
    }
    let synchronous = match options.synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    // Before the layout: its tables are then written once, and not also to a rollback journal.
    write_ahead(connection, options.patience.at_a_time())
        .and_then(|()| connection.pragma_update(None, "synchronous", synchronous))
        .map_err(named)?;
    if layout < options.layout.version() {
        add_steps(path, connection, options.layout)?;
    }
    let set = || {
        connection.pragma_update(None, "cache_size", -CACHE)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_AFTER)?;
        connection.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
        if let Some(bytes) = options.max_bytes {
            let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let page = u64::try_from(page).unwrap_or(0).max(512);
            // SQLite's own limit is 2^32 - 2.
            let pages = i64::try_from(bytes / page).unwrap_or(i64::MAX).clamp(1, 0xffff_fffe);
            connection.pragma_update(None, "max_page_count", pages)?;
        }
        Ok(())
    };
    set().map_err(named)
}

/// Migrates a store, or an empty file, to the last layout, as a whole or not at all.
fn add_steps(path: &Path, connection: &mut Connection, known: &Layout) -> StoreResult<()> {
    let named = |error| sqlite_error::store_error(path, &error);
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(named)?;
    // Another process may have been faster.
    let layout = Marks::read(&transaction).map_err(named)?.fitting_layout(path, known)?;
    for step in known.steps.iter().skip(layout) {
        transaction.execute_batch(step).map_err(named)?;
    }
    transaction
        .execute_batch(&marked(known.version()))
        .and_then(|()| transaction.commit())
        .map_err(named)
}

/// The statements that mark a file as a store of a layout.
fn marked(layout: usize) -> String {
    format!("PRAGMA application_id = {APPLICATION};\nPRAGMA user_version = {layout};\n")
}

/// The statements that migrate a store to this program's layout, layout by layout.
pub(super) fn sql() -> String {
    let step = |(layout, step): (usize, &&str)| {
        format!("-- Layout {layout}\nBEGIN IMMEDIATE;{step}{}COMMIT;\n", marked(layout))
    };
    (1..).zip(LAYOUT.steps).map(step).collect::<Vec<_>>().join("\n")
}

/// Lets others read while one writes. SQLite does not wait by itself when several processes want to
/// make this change at once.
fn write_ahead(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    let begun = Instant::now();
    // Has no effect on a file that already has pages.
    connection.pragma_update(None, "page_size", PAGE)?;
    loop {
        let changed =
            connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0));
        match changed {
            Err(Error::SqliteFailure(failure, _))
                if failure.code == ErrorCode::DatabaseBusy && begun.elapsed() < timeout =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
            // Without it, the store is slower, but just as correct.
            Ok(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_the_signs_of_an_address_is_still_a_path() {
        assert_eq!(
            as_uri(Path::new("/a b/c?d#e%f.db")),
            "file:///a%20b/c%3Fd%23e%25f.db?immutable=1"
        );
    }
}
