//! Fills a store with jobs and dead letters, and serves its board:
//! `board <fill|serve|forget> <store>`, where the store is a file or the address of a Postgres
//! server; or makes calls: `board <calls|watched-calls> <number>`.
//!
//! The server is a separate process, so that its memory is that of the board alone.

#[path = "../letters.rs"]
mod letters;

use std::sync::Arc;
use std::time::Duration;
use std::{env, iter};

use retry_benches::child::make_calls;
use retry_benches::names::ATTRIBUTE;
use retry_board::Board;
use retry_workflow::store::IntoStore;
use retry_workflow::{ItemRecord, Job, SqliteStore, Store, Timestamp};
use retry_workflow_postgres::PostgresStore;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use self::letters::{SCHEMA, letter, payload};

/// The number of small jobs, and of their items.
const SMALL_JOBS: u32 = 10_000;
const SMALL: u32 = 5;
/// The items of the job of a bad night.
const LARGE: u32 = 1_000_000 - SMALL_JOBS * SMALL;
/// The number of jobs with an item that is still waiting.
const UNFINISHED: u32 = 100;
const HOUR: Duration = Duration::from_hours(1);
/// The size of a batch of items, and the number of tasks that create jobs.
const BATCH: usize = 1_000;
const AT_ONCE: u32 = 8;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, on] = &arguments[..] else { panic!("`board <what> <store>`") };
    match what.as_str() {
        "calls" => make_calls(ATTRIBUTE, number(on)),
        "watched-calls" => {
            let board = Board::new();
            let app = board.jobs(SqliteStore::in_memory()).merge(board.policies());
            make_calls(ATTRIBUTE, number(on));
            drop(app);
        }
        _ if on.starts_with("postgres://") => {
            let runtime = runtime();
            let options = PostgresStore::options().schema(SCHEMA);
            let store = runtime.block_on(options.connect(on)).expect("a server");
            match what.as_str() {
                "forget" => runtime.block_on(forget(&store)),
                _ => with(&runtime, what, store),
            }
        }
        _ => with(&runtime(), what, SqliteStore::open(on).expect("a file")),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number of calls")
}

fn runtime() -> Runtime {
    let builder = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    builder.expect("a runtime")
}

fn with(runtime: &Runtime, what: &str, store: impl IntoStore) {
    let store = store.into_store();
    match what {
        "fill" => runtime.block_on(fill(store)),
        "serve" => runtime.block_on(serve(store)),
        _ => panic!("there is no `{what}`"),
    }
}

async fn forget(store: &PostgresStore) {
    let sql = format!("DROP SCHEMA {SCHEMA} CASCADE");
    let dropped = store
        .server()
        .run(sql, |client, sql, _| Box::pin(async move { Ok(client.batch_execute(sql).await?) }));
    dropped.await.expect("it is there");
}

/// Prints the address, and serves until killed.
async fn serve(store: Arc<dyn Store>) {
    let board = Board::new();
    let app = board.jobs(store).merge(board.policies());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("{}", listener.local_addr().expect("it is bound"));
    axum::serve(listener, app).await.expect("it serves");
}

/// Creates the jobs with their dead letters, beginning with the one of the bad night.
async fn fill(store: Arc<dyn Store>) {
    let now = Timestamp::now();
    let mut items = all_letters(now);
    loop {
        let batch: Vec<ItemRecord> = items.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        store.import(batch, now).await.expect("a store that works");
    }
    let mut creating = JoinSet::new();
    for part in 0..AT_ONCE {
        let store = Arc::clone(&store);
        creating.spawn(async move {
            let small = (part..SMALL_JOBS).step_by(AT_ONCE as usize).map(name);
            for name in iter::once("night".to_owned()).filter(|_| part == 0).chain(small) {
                Job::create(&*store, &name, None).await.expect("a store that works");
            }
        });
    }
    creating.join_all().await;
    let dead: u64 = store.counts("night-1").await.expect("a store that works").dead;
    assert_eq!(dead, u64::from(LARGE), "not all were new");
}

fn name(small: u32) -> String {
    format!("import{small}")
}

/// A night of eight hours, then ten days of other jobs, the last of which have not ended.
fn all_letters(now: Timestamp) -> impl Iterator<Item = ItemRecord> {
    let night = now - 20 * HOUR;
    let of_night = (0..LARGE).map(move |n| letter("night-1", n, n, night + 8 * HOUR / LARGE * n));
    let began = now - 240 * HOUR;
    let of_small = (0..SMALL_JOBS).flat_map(move |job| {
        let id = format!("{}-1", name(job));
        let ended = began + 240 * HOUR / SMALL_JOBS * job;
        let waits = (job + UNFINISHED >= SMALL_JOBS).then(|| waiting(&id));
        let dead = move |n| letter(&id, n, job * SMALL + n * 37, ended);
        (0..SMALL).map(dead).chain(waits)
    });
    of_night.chain(of_small)
}

fn waiting(job: &str) -> ItemRecord {
    ItemRecord::new(job, "waits", payload(0))
}
