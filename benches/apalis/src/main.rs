//! Does the work of the part `jobs` with apalis, and prints how long it took:
//! `jobs-apalis apalis <items> <at a time> <file>`.
//!
//! Settings are those that were fastest here, of those that its documentation names:
//!
//! - One connection: SQLite lets one write at a time, and more of them wait for each other.
//! - The pragmas that its `setup` makes, but for `synchronous`: it turns that off, and what
//!   has been acknowledged would be lost with the power. Ours says `NORMAL`, and so does this.
//! - Pushed in bulk, 1,000 at a time; fetched by 100. Fetching 10 or 1,000 is no different.
//! - As many workers as items at a time, and one item each: a worker that acknowledges looks
//!   through all that it ever had, so that one worker with ten items is slower.
//! - `lock_tasks` is off, as in its example of many tasks: a task that was fetched belongs to
//!   its worker already, and to lock it says so once more.

#[path = "../../src/chore.rs"]
mod chore;

use std::env;
use std::sync::Arc;
use std::time::Instant;

use apalis::prelude::{BoxDynError, Data, TaskSink, WorkerBuilder, WorkerBuilderExt, WorkerError};
use apalis_sqlite::{Config, SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::chore::{Chore, THREADS, chores, report};

/// How many items are not done.
type Left = Arc<watch::Sender<u64>>;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [_, items, at_a_time, file] = &arguments[..] else {
        panic!("`jobs-apalis apalis <items> <at a time> <file>`")
    };
    let items = items.parse().expect("a number of items");
    let at_a_time = at_a_time.parse().expect("a number of items");
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let pool = open(file).await;
        let start = Instant::now();
        let storage = push(&pool, items).await;
        let pushed = start.elapsed();
        handle(&storage, items, at_a_time).await;
        let spent = start.elapsed();
        assert_eq!(done(&pool).await, items);
        report(spent, Some(spent.saturating_sub(pushed)));
    });
}

async fn open(file: &str) -> SqlitePool {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
    let pool = pool.expect("a new file");
    SqliteStorage::setup(&pool).await.expect("its tables");
    // A pragma is of its connection, and there is one only.
    sqlx::query("PRAGMA synchronous = NORMAL").execute(&pool).await.expect("a pragma of SQLite");
    pool
}

async fn push(pool: &SqlitePool, items: u64) -> SqliteStorage<Chore> {
    let config = Config::default().queue("chores").batch_size(100).lock_tasks(false);
    let mut storage = SqliteStorage::new(pool).with_config(config);
    let mut items = chores(items);
    loop {
        let batch: Vec<Chore> = items.by_ref().take(1_000).collect();
        if batch.is_empty() {
            return storage;
        }
        storage.push_bulk(batch).await.expect("a store that works");
    }
}

async fn handle(storage: &SqliteStorage<Chore>, items: u64, at_a_time: usize) {
    let left: Left = Arc::new(watch::Sender::new(items));
    let mut workers = JoinSet::new();
    for number in 0..at_a_time {
        let worker = WorkerBuilder::new(format!("worker-{number}"))
            .backend(storage.clone())
            .data(Left::clone(&left))
            .concurrency(1)
            .build(chore_done);
        let mut left = left.subscribe();
        workers.spawn(worker.run_until(async move {
            left.wait_for(|left| *left == 0).await.expect("the other end is kept");
            Ok::<_, WorkerError>(())
        }));
    }
    while let Some(ended) = workers.join_next().await {
        ended.expect("no panic").expect("a worker that works");
    }
}

async fn chore_done(_: Chore, left: Data<Left>) -> Result<(), BoxDynError> {
    left.send_modify(|left| *left -= 1);
    Ok(())
}

async fn done(pool: &SqlitePool) -> u64 {
    let count = sqlx::query_scalar("SELECT count(*) FROM Jobs WHERE status = 'Done'");
    count.fetch_one(pool).await.expect("a table of apalis")
}
