//! Runs one job, and prints how long it took: `jobs workflow <items> <at a time> <file>`; on Postgres
//! the file is the address of a server, and a second process helps.
//!
//! Each run is a process of its own, for the most memory that a process has ever used
//! cannot be asked for twice.

#[path = "../chore.rs"]
mod chore;

use std::convert::Infallible;
use std::env;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use retry_workflow::store::Synchronous;
use retry_workflow::{
    AttemptOutcome, AttemptRecord, Job, MemoryStore, NewItem, Settled, Settlement, SqliteStore,
    Store, Timestamp, Workflow,
};
use retry_workflow_postgres::PostgresStore;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;

use self::chore::{Chore, THREADS, chores, report};

/// The id that the first job of the workflow gets.
const JOB: &str = "chores-1";

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
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let spent = runtime.block_on(async {
        match what.as_str() {
            "workflow" => workflow(open(Synchronous::Normal), items, at_a_time).await,
            "full" => workflow(open(Synchronous::Full), items, at_a_time).await,
            "memory" => workflow(MemoryStore::new(), items, at_a_time).await,
            "store" => store_alone(open(Synchronous::Normal), items, at_a_time).await,
            "postgres" => on_postgres(file, |store, _| workflow(store, items, at_a_time)).await,
            "postgres-helped" => {
                let helped = async |store, schema: String| {
                    let helper = help(&arguments, &schema);
                    let spent = workflow(store, items, at_a_time).await;
                    assert!(helper.await.expect("no panic").success(), "the helper failed");
                    spent
                };
                on_postgres(file, helped).await
            }
            "postgres-help" => helper(file, at_a_time).await,
            "postgres-store" => {
                on_postgres(file, |store, _| store_alone(store, items, at_a_time)).await
            }
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

/// The schema of one run, which a helper has as well.
const SCHEMA: &str = "RETRY_BENCH_SCHEMA";

/// Does this on a store in a schema of its own, which is thrown away.
async fn on_postgres<F: Future<Output = Duration>>(
    url: &str,
    run: impl FnOnce(PostgresStore, String) -> F,
) -> Duration {
    let schema = format!("retry_bench_{}", std::process::id());
    let store = PostgresStore::options().schema(&schema).connect(url).await.expect("a server");
    let spent = run(store.clone(), schema.clone()).await;
    let sql = format!("DROP SCHEMA {schema} CASCADE");
    let dropped = store
        .server()
        .run(sql, |client, sql, _| Box::pin(async move { Ok(client.batch_execute(sql).await?) }));
    dropped.await.expect("it is there");
    spent
}

/// A second process with this one's arguments, which works on the same job.
fn help(arguments: &[String], schema: &str) -> JoinHandle<ExitStatus> {
    let mut helper = Command::new(env::current_exe().expect("this program"));
    helper.arg("postgres-help").args(&arguments[1..]).env(SCHEMA, schema).stdout(Stdio::null());
    spawn_blocking(move || helper.status().expect("it runs"))
}

/// Works on the job that another process has begun, to its end.
async fn helper(url: &str, at_a_time: usize) -> Duration {
    let schema = env::var(SCHEMA).expect("whom it helps");
    let store = PostgresStore::options().schema(schema).connect(url).await.expect("a server");
    while Job::find(&store, JOB).await.expect("a store that works").is_none() {
        sleep(Duration::from_millis(1)).await;
    }
    let start = Instant::now();
    let workflow = Workflow::new("chores").store(store).max_parallel(at_a_time);
    let ended = workflow.resume(JOB, |_: Chore, _| async { Ok::<_, Infallible>(()) }).await;
    ended.expect("a store that works");
    start.elapsed()
}

/// What the store takes for the same, with nothing around it: enqueued by thousands, claimed
/// and settled so many at a time.
async fn store_alone<S: Store>(store: S, items: u64, at_a_time: usize) -> Duration {
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
