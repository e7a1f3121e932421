//! apalis, on SQLite and on Postgres. The settings are those that its documentation recommends for
//! many tasks, and on SQLite the fastest of them:
//!
//! - On SQLite, one connection: it allows one write at a time, and further connections only wait
//!   for each other.
//! - The pragmas of its `setup`, except for `synchronous`: `setup` turns it off, so that
//!   acknowledged work could be lost in a power failure. Our store uses `NORMAL`, and so does this.
//! - Tasks are pushed in bulk, 1,000 at a time, and fetched 100 at a time. On SQLite, 10 or 1,000
//!   make no difference.
//! - One worker per concurrent item, with one item each: a single worker with all items is slower
//!   on both, because it does only one of fetching, acknowledging and handing out at a time. On
//!   SQLite, a worker that acknowledges also searches through all tasks that it ever had.
//! - `lock_tasks` is off, as in its example for many tasks: a fetched task already belongs to its
//!   worker, and locking would only confirm that.
//! - Nothing listens for new tasks: all exist before the first is fetched.

use std::sync::Arc;
use std::time::Instant;

use apalis::prelude::{BoxDynError, Data, TaskSink, WorkerBuilder, WorkerBuilderExt, WorkerError};
use apalis_postgres::PostgresStorage;
use apalis_sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage};
use sqlx::PgPool;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::chore::Chore;
use crate::database::with_database;
use crate::{Spent, batches};

/// The number of items that are left.
type Left = Arc<watch::Sender<u64>>;

/// Runs on a new file.
pub(crate) async fn on_sqlite(file: &str, items: u64, at_a_time: usize) -> Spent {
    let pool = open(file).await;
    let config = apalis_sqlite::Config::default().queue("chores").batch_size(100).lock_tasks(false);
    let start = Instant::now();
    let mut storage = SqliteStorage::new(&pool).with_config(config);
    for batch in batches(items) {
        storage.push_bulk(batch).await.expect("a store that works");
    }
    let pushed = start.elapsed();
    handle(items, at_a_time, |name, left| {
        let worker = WorkerBuilder::new(name)
            .backend(storage.clone())
            .data(Left::clone(&left))
            .concurrency(1)
            .build(chore_done);
        worker.run_until(none(left))
    })
    .await;
    let spent = start.elapsed();
    let count = sqlx::query_scalar("SELECT count(*) FROM Jobs WHERE status = 'Done'");
    let done: u64 = count.fetch_one(&pool).await.expect("a table of apalis");
    assert_eq!(done, items);
    (spent, spent.saturating_sub(pushed))
}

async fn open(file: &str) -> SqlitePool {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
    let pool = pool.expect("a new file");
    SqliteStorage::setup(&pool).await.expect("its tables");
    // A pragma applies to its connection, and there is only one.
    sqlx::query("PRAGMA synchronous = NORMAL").execute(&pool).await.expect("a pragma of SQLite");
    pool
}

/// Runs on a new database.
pub(crate) async fn on_postgres(url: &str, items: u64, at_a_time: usize) -> Spent {
    with_database(url, async |pool: PgPool| {
        PostgresStorage::setup(&pool).await.expect("its tables");
        let config =
            apalis_postgres::Config::default().queue("chores").batch_size(100).lock_tasks(false);
        let start = Instant::now();
        let mut storage = PostgresStorage::new(&pool).with_config(config);
        for batch in batches(items) {
            storage.push_bulk(batch).await.expect("a store that works");
        }
        let pushed = start.elapsed();
        handle(items, at_a_time, |name, left| {
            let worker = WorkerBuilder::new(name)
                .backend(storage.clone())
                .data(Left::clone(&left))
                .concurrency(1)
                .build(chore_done);
            worker.run_until(none(left))
        })
        .await;
        let spent = start.elapsed();
        let count = sqlx::query_scalar("SELECT count(*) FROM apalis.jobs WHERE status = 'Done'");
        let done: i64 = count.fetch_one(&pool).await.expect("a table of apalis");
        assert_eq!(u64::try_from(done), Ok(items));
        (spent, spent.saturating_sub(pushed))
    })
    .await
}

/// Runs this many workers until no item is left.
async fn handle<F>(items: u64, workers: usize, worker: impl Fn(String, Left) -> F)
where
    F: Future<Output = Result<(), WorkerError>> + Send + 'static,
{
    let left: Left = Arc::new(watch::Sender::new(items));
    let mut running = JoinSet::new();
    for number in 0..workers {
        running.spawn(worker(format!("worker-{number}"), Left::clone(&left)));
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("no panic").expect("a worker that works");
    }
}

/// Completes when no item is left.
async fn none(left: Left) -> Result<(), WorkerError> {
    left.subscribe().wait_for(|left| *left == 0).await.expect("the other end is kept");
    Ok(())
}

async fn chore_done(_: Chore, left: Data<Left>) -> Result<(), BoxDynError> {
    left.send_modify(|left| *left -= 1);
    Ok(())
}
