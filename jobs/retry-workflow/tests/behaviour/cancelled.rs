//! Items of a running job that a user cancels.

mod scenario;

use std::sync::Arc;
use std::time::Duration;

use retry_tests_support::events;
use retry_workflow::{Graph, ItemState, Operator, SqliteStore, Store, Task, Workflow, keyed};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn items_are_cancelled_whether_they_wait_or_run() {
    scenario::run(Arc::new(SqliteStore::in_memory())).await;
}

#[tokio::test]
async fn items_are_cancelled_whether_they_wait_or_run_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("jobs.db")).unwrap();
    scenario::run(Arc::new(store)).await;
}

#[tokio::test(start_paused = true)]
async fn the_place_of_a_cancelled_item_is_free_for_its_key() {
    let store = SqliteStore::in_memory();
    let run = tokio::spawn(
        Workflow::new("import")
            .store(store.clone())
            .max_parallel(4)
            .concurrency_per(|_| Some("host".to_owned()), 1)
            .run(keyed(1..=2_u32, ToString::to_string), |n: u32, _| async move {
                if n == 1 {
                    sleep(Duration::from_secs(3_600)).await;
                }
                Ok::<_, String>(())
            }),
    );
    sleep(Duration::from_secs(5)).await;
    Operator::new(store, "ada").cancel_items("import-1", "1").await.unwrap();
    let report = tokio::time::timeout(Duration::from_secs(60), run).await;
    assert_eq!(report.expect("in time").unwrap().unwrap().succeeded(), 1);
}

#[tokio::test(start_paused = true)]
async fn tasks_that_need_a_cancelled_task_are_skipped_and_it_does_not_run_again() {
    let store = SqliteStore::in_memory();
    let task = |name: &'static str, seconds: u64| {
        Task::new(name, move |_| async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok::<_, String>(())
        })
    };
    let graph = Graph::new("release")
        .store(store.clone())
        .task(task("fetch", 1))
        .task(task("build", 3_600).depends_on(["fetch"]))
        .task(task("test", 300).depends_on(["fetch"]))
        .task(task("upload", 1).depends_on(["build"]));
    let run = tokio::spawn(graph.run());
    sleep(Duration::from_secs(10)).await;
    events::collect();
    let ada = Operator::new(store.clone(), "ada");
    assert_eq!(ada.cancel_items("release-1", "build").await, Ok(1));
    assert_eq!(
        events::collect(),
        [r#"user="ada" action="cancel" object="job release-1, item build" count=1"#]
    );
    run.await.unwrap().unwrap();
    for (id, class) in [("build", "cancelled"), ("upload", "dependency")] {
        let item = store.item("release-1", id).await.unwrap().unwrap();
        assert_eq!((item.state, item.run), (ItemState::Skipped, 0), "{id}");
        assert_eq!(item.failure.unwrap().class, class);
    }
}
