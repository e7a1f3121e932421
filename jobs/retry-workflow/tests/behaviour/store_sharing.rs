//! Many workers on one file: threads, processes, and workers that vanish.

#![cfg(feature = "sqlite")]

use std::collections::{BTreeSet, HashSet};
use std::future::Future;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::task::{Context, Waker};
use std::time::Duration;

use retry_workflow::store::{Lease, NewItem, Selection, Settled, Settlement, SqliteStore, Store};
use retry_workflow::{Counts, Timestamp, Workflow};

const MINUTE: Duration = Duration::from_secs(60);

fn items(count: usize) -> Vec<NewItem> {
    let new = |number| NewItem::new(format!("{number}"), "{}");
    (0..count).map(new).collect()
}

fn done(lease: &Lease) -> Settlement {
    Settlement::new(lease.key, Settled::Succeeded(None), Vec::new())
}

#[tokio::test]
async fn a_clone_is_another_handle_to_the_same_store() {
    async fn is_shared(store: impl Store, other: impl Store) {
        other.enqueue("job", items(1), Timestamp::now()).await.unwrap();
        let leases = store
            .claim("job", "w", Timestamp::now(), Selection::Items { max: 1, starts: 1 }, MINUTE)
            .await
            .unwrap();
        other.settle(vec![done(&leases[0])], Vec::new(), Timestamp::now()).await.unwrap();
        drop(other);
        assert_eq!(store.counts("job").await.unwrap().succeeded, 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("store.db")).unwrap();
    is_shared(sqlite.clone(), sqlite).await;
    let memory = SqliteStore::in_memory();
    is_shared(memory.clone(), memory).await;
}

/// Claims and settles until nothing is left, and returns the ids of the items that it got.
async fn work(store: SqliteStore, worker: &str) -> Vec<String> {
    let mut got = Vec::new();
    loop {
        let leases = store
            .claim("job", worker, Timestamp::now(), Selection::Items { max: 7, starts: 7 }, MINUTE)
            .await
            .unwrap();
        if leases.is_empty() {
            return got;
        }
        let settlements: Vec<_> = leases.iter().map(done).collect();
        let settled = store.settle(settlements, Vec::new(), Timestamp::now()).await.unwrap();
        assert!(settled.iter().all(|settled| *settled), "nobody else had them");
        got.extend(leases.into_iter().map(|lease| lease.id));
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[test]
fn threads_with_stores_of_their_own_never_get_one_item_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    run(store.enqueue("job", items(2000), Timestamp::default())).unwrap();
    let got: Vec<Vec<String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = ["a", "b", "c", "d"]
            .map(|worker| {
                let path = &path;
                scope.spawn(move || run(work(SqliteStore::open(path).unwrap(), worker)))
            })
            .into_iter()
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let all: Vec<_> = got.into_iter().flatten().collect();
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (2000, 2000));
    assert_eq!(run(store.counts("job")).unwrap().succeeded, 2000);
}

/// Makes a test act as a worker process on this file.
const STORE: &str = "RETRY_WORKFLOW_TEST_STORE";

fn process(path: &Path) -> Command {
    test_process("a_worker_process", path)
}

fn test_process(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = format!("store_sharing::{test}");
    command.args(["--exact", &test, "--nocapture"]).env(STORE, path);
    command
}

#[test]
fn a_worker_process() {
    // Without it, there is nothing to do.
    let Some(path) = std::env::var_os(STORE) else { return };
    for id in run(work(SqliteStore::open(path).unwrap(), "process")) {
        println!("got {id}");
    }
}

#[test]
fn processes_never_get_one_item_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    run(store.enqueue("job", items(2000), Timestamp::default())).unwrap();
    let children: Vec<_> =
        (0..4).map(|_| process(&path).stdout(Stdio::piped()).spawn().unwrap()).collect();
    let mut all = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let output = String::from_utf8(output.stdout).unwrap();
        all.extend(output.lines().filter_map(|line| line.strip_prefix("got ")).map(str::to_owned));
    }
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (2000, 2000));
    let mut expected = Counts::default();
    expected.succeeded = 2000;
    assert_eq!(run(store.counts("job")), Ok(expected));
}

#[test]
fn processes_that_begin_at_once_agree_on_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let spawn = || process(&path).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..8).map(|_| spawn()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    std::thread::scope(|scope| {
        let path = folder.path().join("threads.db");
        for worker in 0..8 {
            let path = path.clone();
            scope.spawn(move || {
                let store = SqliteStore::open(path).unwrap();
                run(store.enqueue(&format!("{worker}"), items(1), Timestamp::default())).unwrap();
            });
        }
    });
}

#[test]
fn a_killed_process_leaves_leases_that_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    run(store.enqueue("job", items(50_000), Timestamp::default())).unwrap();
    let mut child = process(&path).stdout(Stdio::null()).spawn().unwrap();
    // Once it is at work.
    while run(store.counts("job")).unwrap().succeeded < 100 {
        assert!(child.try_wait().unwrap().is_none(), "it is at work");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = run(store.counts("job")).unwrap();
    assert_eq!(left.total(), 50_000);
    // A little later, everything that it left behind can be claimed.
    let later = Timestamp::now() + 2 * MINUTE;
    let leases = run(store.claim(
        "job",
        "other",
        later,
        Selection::Items { max: 100_000, starts: 0 },
        MINUTE,
    ))
    .unwrap();
    assert_eq!(leases.len() as u64, left.unfinished());
    assert_eq!(run(store.counts("job")).unwrap().lost, left.leased);
}

#[tokio::test]
async fn dropped_operations_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    for number in 0..100 {
        // Started and dropped at once.
        let job = format!("job-{number}");
        let mut enqueue = pin!(store.enqueue(&job, items(10), Timestamp::default()));
        let _pending = enqueue.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    drop(store);
    let store = SqliteStore::open_existing(&path).unwrap();
    for number in 0..100 {
        assert_eq!(store.counts(&format!("job-{number}")).await.unwrap().pending, 10);
    }
}

#[tokio::test]
async fn another_process_reads_and_writes_while_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    store.enqueue("job", items(10), Timestamp::default()).await.unwrap();
    let other = SqliteStore::open_existing(&path).unwrap();
    let leases = store
        .claim("job", "w", Timestamp::default(), Selection::Items { max: 5, starts: 5 }, MINUTE)
        .await
        .unwrap();
    assert_eq!(other.counts("job").await.unwrap().leased, 5);
    let settlements = leases.iter().map(done).collect();
    assert_eq!(
        other.settle(settlements, Vec::new(), Timestamp::default()).await,
        Ok(vec![true; 5])
    );
    assert_eq!(store.counts("job").await.unwrap().succeeded, 5);
    drop(other);
    assert_eq!(
        store
            .claim("job", "w", Timestamp::default(), Selection::Items { max: 9, starts: 9 }, MINUTE)
            .await
            .unwrap()
            .len(),
        5
    );
}

/// Tokio advances a paused clock to the next timer when the runtime is idle.
#[tokio::test(start_paused = true)]
async fn a_stopped_clock_stands_still_while_the_store_works() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let timer = tokio::spawn(tokio::time::sleep(3600 * MINUTE));
    let begun = tokio::time::Instant::now();
    for _ in 0..50 {
        store.enqueue("job", items(1000), Timestamp::default()).await.unwrap();
        store.counts("job").await.unwrap();
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    // It continues afterwards.
    timer.await.unwrap();
}

/// Starts a workflow and stops at once; returns the id of its unfinished job.
async fn begin(store: SqliteStore, name: &str) -> String {
    let workflow = Workflow::new(name).store(store).stop_on(async {});
    let report = workflow.run([1], |_: u32, _| async { Ok::<_, String>(()) }).await;
    report.unwrap().job.id
}

#[test]
fn threads_that_run_one_workflow_at_once_work_on_one_job() {
    const THREADS: usize = 6;
    const ROUNDS: usize = 20;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let shared = SqliteStore::open(&path).unwrap();
    let barrier = Barrier::new(THREADS);
    // Clones of one store, and separate stores on the same file.
    let racer = |thread: usize| {
        let own = || SqliteStore::open(&path).unwrap();
        let store = if thread.is_multiple_of(2) { shared.clone() } else { own() };
        let begin = |round| {
            barrier.wait();
            run(begin(store.clone(), &format!("round {round}")))
        };
        (0..ROUNDS).map(begin).collect::<Vec<_>>()
    };
    let begun: BTreeSet<Vec<String>> = std::thread::scope(|scope| {
        let racer = &racer;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || racer(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let expected = (0..ROUNDS).map(|round| format!("round {round}-1")).collect();
    assert_eq!(begun, BTreeSet::from([expected]));
}

#[test]
fn a_racing_process() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let store = SqliteStore::open(path).unwrap();
    println!("\nready");
    for name in std::io::stdin().lines() {
        println!("begun {}", run(begin(store.clone(), &name.unwrap())));
    }
}

#[test]
fn processes_that_run_one_workflow_at_once_work_on_one_job() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut racers = [(); 2].map(|()| {
        let mut command = test_process("a_racing_process", &path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap).skip_while(|line| line != "ready");
        assert_eq!(lines.next().as_deref(), Some("ready"));
        (child.stdin.take().unwrap(), lines, child)
    });
    for round in 0..20 {
        for (to, ..) in &mut racers {
            writeln!(to, "round {round}").unwrap();
        }
        for (_, lines, _) in &mut racers {
            assert_eq!(lines.next(), Some(format!("begun round {round}-1")));
        }
    }
    for (to, lines, mut child) in racers {
        drop(to);
        lines.for_each(drop);
        assert!(child.wait().unwrap().success());
    }
}
