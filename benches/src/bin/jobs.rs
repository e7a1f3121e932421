//! Runs one job, and prints how long it took: `jobs workflow <items> <at a time> <file>`.
//!
//! Each run is a process of its own, for the most memory that a process has ever used
//! cannot be asked for twice.

#[path = "../chore.rs"]
mod chore;

use std::convert::Infallible;
use std::env;
use std::time::{Duration, Instant};

use retry_workflow::store::Synchronous;
use retry_workflow::{
    AttemptOutcome, AttemptRecord, MemoryStore, NewItem, Settled, Settlement, SqliteStore, Store,
    Timestamp, Workflow,
};
use tokio::runtime::Builder;

use self::chore::{Chore, THREADS, chores, report};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, items, at_a_time, file] = &arguments[..] else {
        panic!("`jobs <what> <items> <at a time> <file>`")
    };
    let items = items.parse().expect("a number of items");
    let at_a_time = at_a_time.parse().expect("a number of items");
    let open = |synchronous| {
        let options = SqliteStore::options().synchronous(synchronous);
        options.open(file).expect("a new store")
    };
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_time().build();
    let runtime = runtime.expect("a runtime");
    let spent = runtime.block_on(async {
        match what.as_str() {
            "workflow" => workflow(open(Synchronous::Normal), items, at_a_time).await,
            "full" => workflow(open(Synchronous::Full), items, at_a_time).await,
            "memory" => workflow(MemoryStore::new(), items, at_a_time).await,
            "store" => store_alone(open(Synchronous::Normal), items, at_a_time).await,
            _ => panic!("there is no `{what}`"),
        }
    });
    report(spent, None);
}

/// As a caller has it, putting the items in included.
async fn workflow<S: Store>(store: S, items: u64, at_a_time: usize) -> Duration {
    let workflow = Workflow::new("chores").store(store).max_parallel(at_a_time);
    let start = Instant::now();
    let ended = workflow.run(chores(items), |_: Chore, _| async { Ok::<_, Infallible>(()) }).await;
    let spent = start.elapsed();
    assert_eq!(ended.expect("a store that works").succeeded(), items);
    spent
}

/// What the store takes for the same, with nothing around it: enqueued by thousands, claimed
/// and settled so many at a time.
async fn store_alone(store: SqliteStore, items: u64, at_a_time: usize) -> Duration {
    const JOB: &str = "chores";
    const WORKER: &str = "worker";
    let text = |chore: Chore| format!(r#"{{"number":{},"text":"{}"}}"#, chore.number, chore.text);
    let mut payloads =
        chores(items).map(|chore| NewItem::new(chore.number.to_string(), text(chore)));
    let start = Instant::now();
    loop {
        let batch: Vec<NewItem> = payloads.by_ref().take(1_000).collect();
        if batch.is_empty() {
            break;
        }
        store.enqueue(JOB, batch, Timestamp::now()).await.expect("a store that works");
    }
    loop {
        let now = Timestamp::now();
        let lease = Duration::from_secs(30);
        let leases = store.claim(JOB, WORKER, now, at_a_time, at_a_time, lease).await;
        let leases = leases.expect("a store that works");
        if leases.is_empty() {
            break;
        }
        let settlements = leases.into_iter().map(|lease| {
            let mut row = AttemptRecord::new(WORKER, now, AttemptOutcome::Succeeded);
            (row.run, row.attempt) = (lease.run, lease.attempt);
            Settlement::new(lease.key, Settled::Succeeded(None), vec![row])
        });
        store.settle(settlements.collect(), Vec::new(), now).await.expect("a store that works");
    }
    let spent = start.elapsed();
    assert_eq!(store.counts(JOB).await.expect("a store that works").succeeded, items);
    spent
}
