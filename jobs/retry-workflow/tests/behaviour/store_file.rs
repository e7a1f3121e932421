//! Files that are not stores, or stores that cannot be used now: each is rejected with a specific
//! error and left unchanged.

#![cfg(feature = "sqlite")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use retry_workflow::store::{
    NewItem, Selection, Settled, Settlement, SqliteStore, Store, StoreError, Synchronous,
};
use retry_workflow::{ItemState, Timestamp};
use rusqlite::Connection;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    (folder, path)
}

fn items(count: usize) -> Vec<NewItem> {
    let payload = "x".repeat(200);
    let new = |number| NewItem::new(format!("{number}"), payload.clone());
    (0..count).map(new).collect()
}

async fn filled(path: &Path, count: usize) -> SqliteStore {
    let store = SqliteStore::open(path).unwrap();
    store.enqueue("job", items(count), Timestamp::default()).await.unwrap();
    store
}

/// An error with its causes, as anyhow's `{:#}` prints it.
fn chain(error: &dyn Error) -> String {
    let below = std::iter::successors(error.source(), |&error| error.source());
    below.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}

/// The contents of a folder, to check that nothing has changed.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut contents: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    contents.sort();
    contents
}

/// Opening fails in both ways, and changes nothing.
fn refused(path: &Path) -> StoreError {
    let folder = path.parent().unwrap();
    let before = contents(folder);
    let error = SqliteStore::open(path).unwrap_err();
    assert_eq!(SqliteStore::open_existing(path).unwrap_err(), error);
    assert!(contents(folder) == before, "Nothing was changed");
    error
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let (_folder, path) = folder();
    std::fs::write(&path, "").unwrap();
    let store = filled(&path, 3).await;
    drop(store);
    let store = SqliteStore::open_existing(&path).unwrap();
    assert_eq!(store.counts("job").await.unwrap().pending, 3);
}

#[test]
fn a_store_that_has_to_be_there_is_not_created() {
    let (folder, path) = folder();
    let error = SqliteStore::open_existing(&path).unwrap_err();
    assert_eq!(error, StoreError::Missing { path: path.clone() });
    assert!(error.to_string().ends_with("store.db: check the path"), "{error}");
    assert!(contents(folder.path()).is_empty());
    // Nor is an empty file turned into a store.
    std::fs::write(&path, "").unwrap();
    assert!(matches!(SqliteStore::open_existing(&path), Err(StoreError::Missing { .. })));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn a_path_that_means_something_to_sqlite_is_a_path() {
    let (folder, _) = folder();
    for name in [":memory:", "file:x.db?mode=memory", "a b#%41?.db", "ä🦀.db"] {
        let path = folder.path().join(name);
        drop(SqliteStore::open(&path).unwrap());
        assert!(path.is_file(), "{name}");
        drop(SqliteStore::open_existing(&path).unwrap());
    }
}

#[test]
fn a_text_file_is_foreign() {
    let (_folder, path) = folder();
    for text in ["x", "name: job\nmode: standard\n", &"long ".repeat(10_000)] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(refused(&path), StoreError::Foreign { path: path.clone() });
    }
}

#[test]
fn a_database_of_something_else_is_foreign() {
    for prepare in [
        "CREATE TABLE notes (text)",
        "PRAGMA application_id = 7",
        "PRAGMA journal_mode = WAL; CREATE TABLE notes (text)",
        "CREATE TABLE jobs (job); PRAGMA user_version = 99",
    ] {
        let (_folder, path) = folder();
        Connection::open(&path).unwrap().execute_batch(prepare).unwrap();
        assert_eq!(refused(&path), StoreError::Foreign { path: path.clone() }, "{prepare}");
    }
}

#[tokio::test]
async fn a_newer_layout_is_left_alone() {
    let (_folder, path) = folder();
    drop(filled(&path, 1).await);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99").unwrap();
    drop(other);
    let error = refused(&path);
    assert_eq!(error, StoreError::Newer { path: path.clone(), found: 99, known: 1 });
}

#[tokio::test]
async fn a_newer_layout_that_is_still_in_the_log_is_seen() {
    let (_folder, path) = folder();
    drop(filled(&path, 1).await);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Newer { found: 99, .. })));
}

#[tokio::test]
async fn a_layout_that_no_version_has_written_is_refused() {
    for version in [0, -1] {
        let (_folder, path) = folder();
        drop(filled(&path, 1).await);
        let other = Connection::open(&path).unwrap();
        other.pragma_update(None, "journal_mode", "DELETE").unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        drop(other);
        let error = refused(&path);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        let why = format!("its layout is {version}, but the first layout is 1");
        assert!(error.to_string().contains(&why), "{error}");
    }
}

#[test]
fn a_store_with_unexpected_columns_is_refused_and_not_changed() {
    let (_folder, path) = folder();
    drop(SqliteStore::open(&path).unwrap());
    let change = "PRAGMA journal_mode = DELETE; ALTER TABLE history DROP COLUMN output; \
                  ALTER TABLE states RENAME COLUMN checkpoint TO progress";
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let before = std::fs::read(&path).unwrap();
    let columns = ["history.output", "states.checkpoint"].map(ToOwned::to_owned).into();
    let expected = StoreError::LacksColumns { path: path.clone(), layout: 1, columns };
    let read_only = SqliteStore::options().read_only(true).open(&path);
    assert_eq!(refused(&path), expected);
    assert_eq!(read_only.unwrap_err(), expected);
    assert_eq!(SqliteStore::check(&path).unwrap_err(), expected);
    assert!(std::fs::read(&path).unwrap() == before, "nothing was changed");
    let text = "says that it has layout 1, but lacks history.output, states.checkpoint: a program \
                between two versions wrote it. Finish its jobs with that program, or name another \
                file to start over. Nothing was changed";
    assert!(expected.to_string().ends_with(text), "{expected}");
}

#[tokio::test]
async fn the_statements_for_operators_make_a_store() {
    let schema = |path: &Path| {
        let file = Connection::open(path).unwrap();
        let mut schema = file
            .prepare("SELECT sql FROM sqlite_schema ORDER BY type, name")
            .unwrap()
            .query_map((), |row| row.get::<_, Option<String>>(0))
            .unwrap()
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        schema.dedup();
        schema
    };
    let (_folder, path) = folder();
    Connection::open(&path).unwrap().execute_batch(&SqliteStore::sql()).unwrap();
    drop(filled(&path, 3).await);
    let check = SqliteStore::check(&path).unwrap();
    assert_eq!((check.layout, check.items, check.is_sound()), (check.newest, 3, true));
    let (_other, new) = folder();
    drop(SqliteStore::open(&new).unwrap());
    assert_eq!(schema(&path), schema(&new));
}

#[tokio::test]
async fn a_check_finds_counts_that_differ_from_the_items() {
    let (_folder, path) = folder();
    drop(filled(&path, 3).await);
    let file = Connection::open(&path).unwrap();
    file.execute("UPDATE jobs SET pending = 2, dead = 1", ()).unwrap();
    let check = SqliteStore::check(&path).unwrap();
    let found: Vec<_> =
        check.disagreements.iter().map(|one| (one.state, one.counted, one.found)).collect();
    assert_eq!(found, [(ItemState::Pending, 2, 3), (ItemState::Dead, 1, 0)]);
    assert!(!check.is_sound() && check.damage.is_empty());
}

#[tokio::test]
async fn the_clock_of_a_store_goes_on_from_where_it_was_left_and_not_backwards() {
    let (_folder, path) = folder();
    let left = |change: &str| {
        let other = Connection::open(&path).unwrap();
        other.execute(&format!("UPDATE clock SET {change}"), ()).unwrap();
    };
    drop(filled(&path, 1).await);
    // The machine has been restarted, and its clock is behind.
    left("time = time + 3600000000, boot = 'before'");
    let store = filled(&path, 2).await;
    let ahead = store.now();
    assert!(ahead.since(Timestamp::now()) > Duration::from_secs(59 * 60));
    assert!(store.now() >= ahead);
    drop(store);
    if cfg!(target_os = "linux") {
        // Within the same boot, time is measured: the system clock was set forward by an hour.
        left("time = time - 7200000000");
        let store = filled(&path, 3).await;
        assert!(Timestamp::now().since(store.now()) > Duration::from_secs(59 * 60));
        drop(store);
    }
    // After a boot, the store follows the system clock.
    left("boot = NULL");
    let store = SqliteStore::open(&path).unwrap();
    assert!(Timestamp::now().since(store.now()) < Duration::from_secs(60));
}

#[tokio::test]
#[cfg(unix)]
async fn a_deleted_or_replaced_store_refuses_writes() {
    let (_folder, path) = folder();
    for replace in [false, true] {
        let store = filled(&path, 3).await;
        let leases = store
            .claim(
                "job",
                "w",
                store.now(),
                Selection::Items { max: 9, starts: 9 },
                Duration::from_secs(9),
            )
            .await;
        let lease = leases.unwrap().remove(0);
        std::fs::remove_file(&path).unwrap();
        if replace {
            std::fs::write(&path, "").unwrap();
        }
        let gone = StoreError::Replaced { path: path.clone() };
        let end = Settlement::new(lease.key, Settled::Succeeded(None), Vec::new());
        assert_eq!(store.settle(vec![end], Vec::new(), store.now()).await, Err(gone.clone()));
        assert_eq!(store.cas("key", 0, "value").await, Err(gone.clone()));
        // It is not read either: others see another file.
        assert_eq!(store.get("key").await, Err(gone.clone()));
        assert_eq!(store.jobs(None, 9).await.unwrap_err(), gone);
        drop(store);
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(path.with_extension("db-wal"));
        let _ = std::fs::remove_file(path.with_extension("db-shm"));
    }
}

#[tokio::test]
#[cfg(unix)]
async fn a_new_store_is_private_to_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;

    let (_folder, path) = folder();
    let store = filled(&path, 3).await;
    for file in [path.clone(), path.with_extension("db-wal"), path.with_extension("db-shm")] {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }
    drop(store);
    // An existing file keeps its permissions.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    drop(filled(&path, 1).await);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    // Nor is one more accessible that is created behind a link.
    let (link, file) = (path.with_extension("link"), path.with_extension("there"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    drop(filled(&link, 1).await);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_store_that_is_read_only_is_read_and_not_changed() {
    let (_folder, path) = folder();
    let missing = SqliteStore::options().read_only(true).open(&path);
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
    drop(filled(&path, 3).await);
    let before = std::fs::read(&path).unwrap();
    let store = SqliteStore::options().read_only(true).open(&path).unwrap();
    assert_eq!(store.counts("job").await.unwrap().pending, 3);
    assert!(store.item("job", "1").await.unwrap().is_some());
    let refused = store.enqueue("job", items(1), store.now()).await;
    assert!(matches!(refused, Err(StoreError::Access { .. })), "{refused:?}");
    assert!(std::fs::read(&path).unwrap() == before, "Nothing was changed");
    // While another process is writing.
    let writer = filled(&path, 5).await;
    assert_eq!(store.counts("job").await.unwrap().pending, 5);
    drop((writer, store));
}

#[tokio::test]
async fn a_wait_for_a_locked_store_is_reported() {
    let (_folder, path) = folder();
    drop(filled(&path, 1).await);
    let other = Connection::open(&path).unwrap();
    let told = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = std::sync::Arc::clone(&told);
    let options = SqliteStore::options().busy_timeout(Duration::from_secs(30)).on_wait(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    let store = options.open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let free = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        other.execute_batch("COMMIT").unwrap();
    });
    assert_eq!(store.enqueue("job", items(2), store.now()).await, Ok(1));
    free.join().unwrap();
    assert!(told.load(std::sync::atomic::Ordering::Relaxed) >= 1);
}

#[tokio::test]
async fn a_truncated_store_is_corrupt() {
    let (_folder, path) = folder();
    drop(filled(&path, 1000).await);
    let whole = std::fs::read(&path).unwrap();
    for length in [whole.len() - 4096, whole.len() / 2, 5000] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = refused(&path);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{length}: {error:?}");
    }
}

#[tokio::test]
async fn a_store_with_garbage_in_it_is_corrupt_when_that_is_read() {
    let (_folder, path) = folder();
    drop(filled(&path, 1000).await);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[40 * 4096..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let all = retry_workflow::Filter::default().states(retry_workflow::ItemState::ALL);
    let error = store.list(&all, None, 10_000).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    let shown = chain(&error);
    assert_eq!(shown.matches("malformed").count(), 1, "its cause is told, and once: {shown}");
}

#[test]
fn a_folder_and_a_missing_path_are_refused_with_a_cure() {
    let (folder, _) = folder();
    let error = SqliteStore::open(folder.path()).unwrap_err();
    let shown = chain(&error);
    assert!(shown.ends_with("cannot be used: it is a folder: name a file in it"), "{shown}");
    let nowhere = folder.path().join("no/such/store.db");
    let error = SqliteStore::open(nowhere).unwrap_err();
    assert!(matches!(error, StoreError::Access { .. }));
    assert!(chain(&error).ends_with("no/such: create it first"), "{error:?}");
    assert!(matches!(SqliteStore::open(""), Err(StoreError::Access { .. })));
}

#[tokio::test]
async fn a_read_only_store_is_reported() {
    let (_folder, path) = folder();
    drop(filled(&path, 1).await);
    let mut leave = std::fs::metadata(&path).unwrap().permissions();
    leave.set_readonly(true);
    std::fs::set_permissions(&path, leave).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        // This user may write anywhere.
        return;
    }
    assert!(matches!(refused(&path), StoreError::Access { .. }));
}

#[tokio::test]
async fn a_locked_store_is_waited_for_until_the_timeout() {
    let (_folder, path) = folder();
    let patience = Duration::from_millis(100);
    let store = SqliteStore::options().busy_timeout(patience).open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let error = store.enqueue("job", items(1), Timestamp::default()).await.unwrap_err();
    assert_eq!(error, StoreError::Locked { path: path.clone() });
    assert!(begun.elapsed() >= patience);
    // Reads continue in the meantime, and writes after it.
    assert_eq!(store.counts("job").await.unwrap().pending, 0);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(store.enqueue("job", items(1), Timestamp::default()).await, Ok(1));
}

#[tokio::test]
async fn a_full_store_keeps_its_contents() {
    let (_folder, path) = folder();
    let store = SqliteStore::options().max_bytes(256 * 1024).open(&path).unwrap();
    assert_eq!(store.enqueue("job", items(100), Timestamp::default()).await, Ok(100));
    let error = store.enqueue("other", items(10_000), Timestamp::default()).await.unwrap_err();
    assert_eq!(error, StoreError::Full { path: path.clone() });
    assert_eq!(store.counts("other").await.unwrap().pending, 0);
    // Existing items can still be processed, and a job name that was new in the failed batch can be
    // used.
    let leases = store
        .claim(
            "job",
            "w",
            Timestamp::default(),
            Selection::Items { max: 10, starts: 10 },
            Duration::ZERO,
        )
        .await
        .unwrap();
    assert_eq!(leases.len(), 10);
    assert_eq!(store.enqueue("other", items(1), Timestamp::default()).await, Ok(1));
}

#[tokio::test]
async fn one_that_fails_does_not_take_others_with_it() {
    let (_folder, path) = folder();
    let patience = Duration::from_secs(30);
    let options = SqliteStore::options().max_bytes(256 * 1024).busy_timeout(patience);
    let store = options.open(&path).unwrap();
    // While another connection holds the file, commands queue up and become one group.
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let tasks: Vec<_> = (0..9)
        .map(|number| {
            let store = store.clone();
            let count = if number == 4 { 10_000 } else { 10 };
            tokio::spawn(async move {
                store.enqueue(&format!("job-{number}"), items(count), Timestamp::default()).await
            })
        })
        .collect();
    tokio::task::yield_now().await;
    other.execute_batch("COMMIT").unwrap();
    for (number, task) in tasks.into_iter().enumerate() {
        let added = task.await.unwrap();
        let counts = store.counts(&format!("job-{number}")).await.unwrap();
        if number == 4 {
            assert!(matches!(added, Err(StoreError::Full { .. })), "{added:?}");
            assert_eq!(counts.total(), 0);
        } else {
            assert_eq!((added, counts.total()), (Ok(10), 10));
        }
    }
}

#[tokio::test]
async fn full_synchronous_commits_behave_alike() {
    let (_folder, path) = folder();
    let store = SqliteStore::options().synchronous(Synchronous::Full).open(&path).unwrap();
    assert_eq!(store.enqueue("job", items(10), Timestamp::default()).await, Ok(10));
}

#[tokio::test]
async fn the_last_handle_brings_the_file_in_order() {
    let (folder, path) = folder();
    let store = filled(&path, 1000).await;
    drop(store.clone());
    assert_eq!(contents(folder.path()).len(), 3, "the log and its index are there");
    drop(store);
    assert_eq!(contents(folder.path()).len(), 1, "all is in the one file");
}
