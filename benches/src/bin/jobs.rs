//! Runs one job, and prints how long it took: `jobs workflow <items> <at a time> <file>`; on
//! Postgres, the file is the address of a server, and a second process can help.
//!
//! Each run is a separate process, because the peak memory of a process cannot be reset.

#[path = "../by_hand.rs"]
mod by_hand;
#[path = "../chore.rs"]
mod chore;
#[path = "../claims.rs"]
mod claims;
#[path = "../trips.rs"]
mod trips;

use std::convert::Infallible;
use std::env;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use retry_workflow::store::{IntoStore, NewItem, Synchronous};
use retry_workflow::{Job, SqliteStore, Store, Timestamp, Workflow};
use retry_workflow_postgres::PostgresStore;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;

use self::by_hand::by_hand;
use self::chore::{Chore, THREADS, chores, report};
use self::claims::claim_and_settle;
use self::trips::Trips;

/// The id of the workflow's first job.
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
    runtime.block_on(async {
        let spent = match what.as_str() {
            "workflow" => workflow(open(Synchronous::Normal), items, at_a_time).await,
            "full" => workflow(open(Synchronous::Full), items, at_a_time).await,
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
            "postgres-by-hand" => {
                by_hand(file, &own_schema(), new_items(items).collect(), at_a_time).await
            }
            "postgres-counted" => counted(file, items, at_a_time).await,
            "postgres-settings" => return settings(file).await,
            "postgres-help" => helper(file, at_a_time).await,
            "postgres-store" => {
                on_postgres(file, |store, _| store_alone(store, items, at_a_time)).await
            }
            _ => panic!("there is no `{what}`"),
        };
        report(spent, None);
    });
}

/// The job as a caller would run it, including the time to add the items.
async fn workflow(store: impl IntoStore, items: u64, at_a_time: usize) -> Duration {
    let workflow = Workflow::new("chores").store(store).max_parallel(at_a_time);
    let ends = Arc::new(Ends::default());
    let handle = {
        let ends = Arc::clone(&ends);
        move |_: Chore, _| {
            ends.handled(items);
            async { Ok::<_, Infallible>(()) }
        }
    };
    let start = Instant::now();
    let ended = workflow.run(chores(items), handle).await;
    let end = Instant::now();
    assert_eq!(ended.expect("a store that works").succeeded(), items);
    ends.report(start, end);
    end - start
}

/// The number of items that count as the start and the end of a job.
const END: u64 = 100_000;

/// The times when the first items had been handled, and when only the last ones were left.
#[derive(Debug, Default)]
struct Ends {
    handled: AtomicU64,
    first: OnceLock<Instant>,
    last: OnceLock<Instant>,
}

impl Ends {
    /// Counts one more handled item, out of this many.
    fn handled(&self, items: u64) {
        let handled = self.handled.fetch_add(1, Ordering::Relaxed) + 1;
        if handled == END {
            self.first.get_or_init(Instant::now);
        }
        if handled + END == items {
            self.last.get_or_init(Instant::now);
        }
    }

    /// Prints how long the start and the end took, if the job is long enough to have both.
    fn report(&self, start: Instant, end: Instant) {
        if let (Some(first), Some(last)) = (self.first.get(), self.last.get()) {
            println!("first\t{}", (*first - start).as_secs_f64());
            println!("last\t{}", (end - *last).as_secs_f64());
        }
    }
}

/// The variable with the schema of a run, for the helper process.
const SCHEMA: &str = "RETRY_BENCH_SCHEMA";

/// The name of a schema that no other run uses.
fn own_schema() -> String {
    format!("retry_bench_{}", std::process::id())
}

/// A store on this server.
async fn store(url: &str, schema: &str) -> PostgresStore {
    PostgresStore::options().schema(schema).connect(url).await.expect("a server")
}

/// Runs on a store in a new schema, which is dropped afterwards.
async fn on_postgres<F: Future<Output = Duration>>(
    url: &str,
    run: impl FnOnce(PostgresStore, String) -> F,
) -> Duration {
    let schema = own_schema();
    let store = store(url, &schema).await;
    let spent = run(store.clone(), schema.clone()).await;
    throw_away(&store, &schema).await;
    spent
}

async fn throw_away(store: &PostgresStore, schema: &str) {
    let sql = format!("DROP SCHEMA {schema} CASCADE");
    let dropped = store
        .server()
        .run(sql, |client, sql, _| Box::pin(async move { Ok(client.batch_execute(sql).await?) }));
    dropped.await.expect("it is there");
}

/// Like `workflow`, but counts the round trips and the rows that the server touches.
async fn counted(url: &str, items: u64, at_a_time: usize) -> Duration {
    let schema = own_schema();
    let trips = Trips::to(url).await;
    let counted = store(&trips.url, &schema).await;
    let before = trips.count();
    let spent = workflow(counted, items, at_a_time).await;
    println!("trips\t{}", trips.count() - before);
    // A server process reports its statistics when its connection ends.
    drop(trips);
    sleep(Duration::from_secs(2)).await;
    let store = store(url, &schema).await;
    let sql = format!(
        "SELECT sum(n_tup_ins)::bigint, sum(n_tup_upd)::bigint, sum(n_tup_del)::bigint,
             (sum(seq_tup_read) + sum(coalesce(idx_tup_fetch, 0)))::bigint
         FROM pg_stat_user_tables WHERE schemaname = '{schema}'"
    );
    let row = store.server().run(sql, |client, sql, _| {
        Box::pin(async move { Ok(client.query_one(sql.as_str(), &[]).await?) })
    });
    let row = row.await.expect("a server's own table");
    for (place, name) in ["inserted", "updated", "deleted", "fetched"].into_iter().enumerate() {
        println!("{name}\t{}", row.get::<_, i64>(place));
    }
    throw_away(&store, &schema).await;
    spent
}

/// Prints the server's version and its relevant settings.
async fn settings(url: &str) {
    let schema = own_schema();
    let store = store(url, &schema).await;
    let sql = "SELECT string_agg(format('`%s = %s`', name, current_setting(name)), ', ')
        FROM unnest(ARRAY['server_version', 'shared_buffers', 'max_wal_size',
            'synchronous_commit', 'fsync', 'autovacuum']) AS name";
    let row = store
        .server()
        .run(sql, |client, sql, _| Box::pin(async move { Ok(client.query_one(*sql, &[]).await?) }));
    let row = row.await.expect("settings that every server has");
    println!("settings\t{}", row.get::<_, String>(0));
    throw_away(&store, &schema).await;
}

/// Starts a second process with the same arguments, which works on the same job.
fn help(arguments: &[String], schema: &str) -> JoinHandle<ExitStatus> {
    let mut helper = Command::new(env::current_exe().expect("this program"));
    helper.arg("postgres-help").args(&arguments[1..]).env(SCHEMA, schema).stdout(Stdio::null());
    spawn_blocking(move || helper.status().expect("it runs"))
}

/// Works on the job that another process has started, until it ends.
async fn helper(url: &str, at_a_time: usize) -> Duration {
    let schema = env::var(SCHEMA).expect("whom it helps");
    let store = store(url, &schema).await;
    while Job::find(&store, JOB).await.expect("a store that works").is_none() {
        sleep(Duration::from_millis(1)).await;
    }
    let start = Instant::now();
    let workflow = Workflow::new("chores").store(store).max_parallel(at_a_time);
    let ended = workflow.resume(JOB, |_: Chore, _| async { Ok::<_, Infallible>(()) }).await;
    ended.expect("a store that works");
    start.elapsed()
}

/// The items in the form that a store takes.
fn new_items(count: u64) -> impl Iterator<Item = NewItem> {
    let text = |chore: Chore| format!(r#"{{"number":{},"text":"{}"}}"#, chore.number, chore.text);
    chores(count).map(move |chore| NewItem::new(chore.number.to_string(), text(chore)))
}

/// The time that the store alone takes for the same work: enqueues by thousands, and claims and
/// settles this many at a time.
async fn store_alone(store: impl Store, items: u64, at_a_time: usize) -> Duration {
    let mut payloads = new_items(items);
    let start = Instant::now();
    loop {
        let batch: Vec<NewItem> = payloads.by_ref().take(1_000).collect();
        if batch.is_empty() {
            break;
        }
        store.enqueue(JOB, batch, Timestamp::now()).await.expect("a store that works");
    }
    while claim_and_settle(&store, JOB, at_a_time).await.is_some() {}
    let spent = start.elapsed();
    assert_eq!(store.counts(JOB).await.expect("a store that works").succeeded, items);
    spent
}
