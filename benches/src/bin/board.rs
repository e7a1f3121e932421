//! Fills a store with jobs and dead letters, and serves its board:
//! `board <fill|serve|forget> <store>`, where the store is a file or the address of a Postgres
//! server; or makes calls: `board <calls|watched-calls> <number>`.
//!
//! The server is a separate process, so that its memory is that of the board alone.

use std::sync::Arc;
use std::time::Duration;
use std::{env, iter};

use retry_benches::child::make_calls;
use retry_benches::names::ATTRIBUTE;
use retry_board::Board;
use retry_workflow::store::{AttemptOutcome, AttemptRecord, IntoStore};
use retry_workflow::{
    Failure, ItemRecord, ItemState, Job, MemoryStore, SqliteStore, Store, Timestamp,
};
use retry_workflow_postgres::PostgresStore;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// The schema on a Postgres server.
const SCHEMA: &str = "retry_bench_board";

/// The number of small jobs, and of their items.
const SMALL_JOBS: u32 = 10_000;
const SMALL: u32 = 5;
/// The items of the job of a bad night.
const LARGE: u32 = 1_000_000 - SMALL_JOBS * SMALL;
const SIGNATURES: u32 = 200;
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
            let app = board.jobs(MemoryStore::new()).merge(board.policies());
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
    let mut items = letters(now);
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
fn letters(now: Timestamp) -> impl Iterator<Item = ItemRecord> {
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

fn payload(n: u32) -> String {
    format!(r#"{{"order":{n},"text":"{}"}}"#, "x".repeat(170))
}

/// A dead letter after two attempts; `kind` selects the failure.
fn letter(job: &str, n: u32, kind: u32, ended: Timestamp) -> ItemRecord {
    let failure = failure(kind % SIGNATURES, n);
    let mut item = ItemRecord::new(job, n.to_string(), payload(n));
    (item.state, item.attempt, item.ended) = (ItemState::Dead, 2, Some(ended));
    item.history = [1, 2].map(|attempt| attempted(attempt, ended, &failure)).into();
    item.failure = Some(failure);
    item
}

fn attempted(attempt: u32, ended: Timestamp, failure: &Failure) -> AttemptRecord {
    const TOOK: Duration = Duration::from_millis(120);
    let started = ended - TOOK * (5 - 2 * attempt);
    let mut row = AttemptRecord::new("worker", started, AttemptOutcome::Failed);
    (row.attempt, row.duration) = (attempt, TOOK);
    row.wait = if attempt == 1 { TOOK } else { Duration::ZERO };
    row.failure = Some(failure.clone());
    row
}

/// Uses letters after `f` in place of digits, because signatures replace numbers.
fn failure(signature: u32, n: u32) -> Failure {
    const CLASSES: [&str; 5] = ["network", "timeout", "server_error", "rate_limit", "other"];
    let letter = |at: u32| char::from_u32('g' as u32 + at).unwrap_or('g');
    let column: String = [letter(signature / 10 % 20), letter(signature % 10)].iter().collect();
    let class = CLASSES[signature as usize % CLASSES.len()];
    Failure::new(class, format!("order {n}: the warehouse has no column {column}, it says"))
}
