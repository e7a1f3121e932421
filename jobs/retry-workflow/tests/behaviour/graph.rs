//! Task graphs, on virtual time, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::InvalidGraph;
use retry_workflow::matchers::network;
use retry_workflow::store::Alteration;
use retry_workflow::{
    DeadLetters, Filter, Graph, ItemState, SqliteStore, Store, Task, Timestamp, WorkflowError,
};
use tokio::time::{Instant, sleep};

/// The tasks that ran, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn state(store: &SqliteStore, job: &str, task: &str) -> ItemState {
    store.item(job, task).await.unwrap().unwrap().state
}

#[tokio::test(start_paused = true)]
async fn ready_tasks_run_in_parallel_and_others_after_their_dependencies() {
    let log = Log::default();
    let start = Instant::now();
    let task = |name: &'static str| {
        let log = log.clone();
        Task::new(name, move |_| {
            let log = log.clone();
            async move {
                sleep(Duration::from_secs(10)).await;
                log.add(format!("{name} {}", start.elapsed().as_secs()));
                Ok::<_, String>(())
            }
        })
    };
    let report = Graph::new("diamond")
        .task(task("d").depends_on(["b", "c"]))
        .task(task("b").depends_on("a"))
        .task(task("c").depends_on(["a"]))
        .task(task("a"))
        .run()
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    let mut ran = log.take();
    ran.sort_unstable();
    assert_eq!(ran, ["a 10", "b 20", "c 20", "d 30"]);
}

#[tokio::test(start_paused = true)]
async fn dependants_of_a_failed_task_are_skipped_and_name_it() {
    let store = SqliteStore::in_memory();
    let log = Log::default();
    let task = |name: &'static str| {
        let log = log.clone();
        Task::new(name, move |_| {
            log.add(name);
            async { Ok::<_, String>(()) }
        })
    };
    let report = Graph::new("site")
        .store(store.clone())
        .task(Task::new("fetch", |_| async { Err::<(), _>("no network") }).max_retries(0))
        .task(task("render").depends_on(["fetch"]))
        .task(task("check").depends_on(["render"]))
        .task(task("notify"))
        .task(task("count").depends_on(["notify"]))
        .run()
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.dead(), report.skipped()), (2, 1, 2));
    assert_eq!(log.take(), ["notify", "count"]);
    let message =
        |item: retry_workflow::ItemRecord| item.failure.map(|failure| failure.message).unwrap();
    let render = store.item("site-1", "render").await.unwrap().unwrap();
    assert_eq!(message(render), "`fetch` failed, which `render` needs");
    let check = store.item("site-1", "check").await.unwrap().unwrap();
    assert_eq!(message(check), "`fetch` failed, which `check` needs through `render`");
}

/// The culprits of all skipped tasks, by task.
async fn culprits<S: Store + Clone>(store: &S, job: &str) -> BTreeMap<String, Vec<String>> {
    let skipped = Filter::job(job).states([ItemState::Skipped]);
    let page = store.list(&skipped, None, 100).await.unwrap();
    page.items.into_iter().map(|item| (item.id, item.failure.unwrap().culprits)).collect()
}

async fn culprits_are_known_by_their_names<S: Store + Clone>(store: S) {
    let names = ["a`, `b", "` failed", "two\nlines", "it's \"quoted\"", ", "];
    let fail = |name: &str| Task::new(name, |_| async { Err::<(), _>("no") }).max_retries(0);
    let task = |name: &str| Task::new(name, |_| async { Ok::<_, String>(()) });
    let mut graph = Graph::new("odd").store(store.clone());
    for name in names {
        let (after, later) = (format!("after {name}"), format!("later than {name}"));
        graph = graph.task(fail(name)).task(task(&after).depends_on([name]));
        graph = graph.task(task(&later).depends_on([after]));
    }
    let graph = graph.task(task("last").depends_on(names.map(|name| format!("later than {name}"))));
    let report = graph.run().await.unwrap();
    assert_eq!((report.dead(), report.skipped()), (5, 11));

    let mut expected = BTreeMap::new();
    for name in names {
        for task in [format!("after {name}"), format!("later than {name}")] {
            expected.insert(task, vec![name.to_owned()]);
        }
    }
    let mut all = names.map(str::to_owned);
    all.sort_unstable();
    expected.insert("last".to_owned(), all.to_vec());
    assert_eq!(culprits(&store, "odd-1").await, expected);

    // They are the same after an export and an import.
    let mut lines = Vec::new();
    let all = Filter::job("odd-1").states(ItemState::ALL);
    DeadLetters::new(store).export(&all, &mut lines).await.unwrap();
    let there = SqliteStore::in_memory();
    DeadLetters::new(there.clone()).import(lines.as_slice(), None).await.unwrap();
    assert_eq!(culprits(&there, "odd-1").await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_may_have_any_name() {
    culprits_are_known_by_their_names(SqliteStore::in_memory()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_failed_task_in_a_file_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = retry_workflow::SqliteStore::open(folder.path().join("store.db")).unwrap();
    culprits_are_known_by_their_names(store).await;
}

#[tokio::test(start_paused = true)]
async fn retries_are_counted_and_each_wait_is_twice_as_long() {
    let log = Log::default();
    let start = Instant::now();
    let report = Graph::new("retries")
        .task(
            Task::new("flaky", {
                let log = log.clone();
                move |cx| {
                    log.add(format!("{} at {}", cx.retry_count(), start.elapsed().as_secs()));
                    async { Err::<(), _>(std::io::Error::from(std::io::ErrorKind::BrokenPipe)) }
                }
            })
            .max_retries(5)
            .retry_delay(Duration::from_secs(2))
            .max_retry_delay(Duration::from_secs(10))
            .retry_on([network]),
        )
        .run()
        .await
        .unwrap();
    assert_eq!(report.dead(), 1);
    assert_eq!(log.take(), ["0 at 0", "1 at 2", "2 at 6", "3 at 14", "4 at 24", "5 at 34"]);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_graph_resumes() {
    let store = SqliteStore::in_memory();
    let log = Log::default();
    let graph = |stop: u64| {
        let task = |name: &'static str| {
            let log = log.clone();
            Task::new(name, move |_| {
                log.add(name);
                async {
                    sleep(Duration::from_secs(10)).await;
                    Ok::<_, String>(())
                }
            })
        };
        Graph::new("resumes")
            .store(store.clone())
            .task(task("a"))
            .task(task("b").depends_on(["a"]))
            .task(task("c").depends_on(["b"]))
            .stop_on(sleep(Duration::from_secs(stop)))
            .run()
    };
    let report = graph(15).await.unwrap();
    assert!(report.stopped().is_some());
    assert_eq!(log.take(), ["a", "b"]);
    let report = graph(1_000).await.unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!(log.take(), ["c"]);
}

#[tokio::test(start_paused = true)]
async fn skipped_tasks_run_once_the_failed_task_succeeds() {
    let store = SqliteStore::in_memory();
    let graph = |good: bool| {
        let fine = |_| async { Ok::<_, String>(()) };
        Graph::new("repaired")
            .job_id("repaired")
            .store(store.clone())
            .task(
                Task::new("a", move |_| async move { if good { Ok(()) } else { Err("bad") } })
                    .max_retries(0),
            )
            .task(Task::new("b", fine).depends_on(["a"]))
            .task(Task::new("c", fine).depends_on(["b"]))
            .run()
    };
    assert_eq!(graph(false).await.unwrap().skipped(), 2);
    // Repair the cause and re-drive the dead letter.
    let dead = Filter::job("repaired");
    assert_eq!(
        store
            .alter(&dead, Alteration::redrive(Duration::ZERO), usize::MAX, Timestamp::now())
            .await
            .unwrap(),
        1
    );
    let report = graph(true).await.unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!(state(&store, "repaired", "c").await, ItemState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn two_processes_run_each_task_once() {
    let store = SqliteStore::in_memory();
    let log = Log::default();
    let graph = || {
        let task = |name: &'static str| {
            let log = log.clone();
            Task::new(name, move |_| {
                log.add(name);
                async {
                    sleep(Duration::from_secs(100)).await;
                    Ok::<_, String>(())
                }
            })
        };
        Graph::new("two")
            .job_id("two")
            .store(store.clone())
            .max_parallel(1)
            .task(task("a"))
            .task(task("b"))
            .task(task("c").depends_on(["a", "b"]))
            .task(task("d").depends_on(["a"]))
            .run()
    };
    let (one, two) = tokio::join!(graph(), graph());
    assert!(one.unwrap().is_success() && two.unwrap().is_success());
    let mut ran = log.take();
    ran.sort_unstable();
    assert_eq!(ran, ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_graph_is_refused_before_a_task_runs() {
    let fine = |_| async { Ok::<_, String>(()) };
    let cycle = Graph::new("cycle")
        .task(Task::new("a", fine).depends_on(["b"]))
        .task(Task::new("b", fine).depends_on(["a"]));
    let error = cycle.run().await.unwrap_err();
    assert!(matches!(error, WorkflowError::Graph(InvalidGraph::Cycle { .. })));
    assert_eq!(
        error.to_string(),
        "these tasks depend on each other, so none of them can start: `a` → `b` → `a`"
    );
    let twice = Graph::new("twice").task(Task::new("a", fine)).task(Task::new("a", fine));
    assert_eq!(
        twice.run().await.unwrap_err().to_string(),
        "two tasks are named `a`: rename one of them"
    );
    assert_eq!(
        Graph::new("empty").run().await.unwrap_err().to_string(),
        "there are no tasks: add one"
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_re_driven_during_a_run_releases_its_dependants() {
    let store = SqliteStore::in_memory();
    let (log, began) = (Log::default(), Instant::now());
    let task = |name: &'static str, seconds: u64| {
        let log = log.clone();
        Task::new(name, move |_| {
            let log = log.clone();
            async move {
                sleep(Duration::from_secs(seconds)).await;
                log.add(format!("{name} at {}", began.elapsed().as_secs()));
                Ok::<_, String>(())
            }
        })
    };
    let graph = Graph::new("g")
        .job_id("g")
        .store(store.clone())
        .task(
            Task::new("a", |cx| async move { if cx.run() > 0 { Ok(()) } else { Err("bad") } })
                .max_retries(0),
        )
        .task(task("b", 1).depends_on(["a"]))
        .task(task("c", 1).depends_on(["b", "d"]))
        .task(task("d", 60))
        .run();
    let taken_back = async {
        sleep(Duration::from_secs(10)).await;
        let dead = Filter::job("g");
        store
            .alter(&dead, Alteration::redrive(Duration::ZERO), usize::MAX, Timestamp::now())
            .await
            .unwrap()
    };
    let (report, taken) = tokio::join!(graph, taken_back);
    assert_eq!(taken, 1);
    assert!(report.unwrap().is_success());
    // The replay of `a` is seen within a second; its followers do not wait until they are looked
    // at.
    assert_eq!(log.take(), ["b at 12", "d at 60", "c at 61"]);
}

#[tokio::test(start_paused = true)]
async fn all_failed_dependencies_are_named_and_a_long_chain_is_fast() {
    let store = SqliteStore::in_memory();
    let fine = |_| async { Ok::<_, String>(()) };
    let bad = |_| async { Err::<(), _>("bad") };
    let mut graph = Graph::new("long")
        .store(store.clone())
        .task(Task::new("p1", bad).max_retries(0))
        .task(Task::new("p2", bad).max_retries(0))
        .task(Task::new("c0", fine).depends_on(["p1", "p2"]));
    for n in 1..1_000_u32 {
        graph = graph.task(Task::new(format!("c{n}"), fine).depends_on([format!("c{}", n - 1)]));
    }
    let report = graph.run().await.unwrap();
    assert_eq!((report.dead(), report.skipped()), (2, 1_000));
    let last = store.item("long-1", "c999").await.unwrap().unwrap();
    assert_eq!(
        last.failure.unwrap().message,
        "`p1`, `p2` failed, which `c999` needs through `c998`"
    );
    assert!(report.groups.iter().any(|group| group.count == 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_task_may_need_a_thousand_others() {
    let fine = |_| async { Ok::<_, String>(()) };
    let names: Vec<_> = (0..1_000_u32).map(|n| format!("t{n}")).collect();
    let tasks = names.iter().map(|name| Task::new(name, fine).depends_on(["first"]));
    let graph = tasks.fold(Graph::new("wide").task(Task::new("first", fine)), Graph::task);
    let report = graph.task(Task::new("last", fine).depends_on(names)).run().await.unwrap();
    assert_eq!(report.succeeded(), 1_002);
}
