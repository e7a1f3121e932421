//! Inputs that change while their job is unfinished.

mod polling;
mod scenario;

use std::sync::Arc;

use retry_workflow::{SqliteStore, Workflow, keyed};

#[tokio::test]
async fn no_item_is_lost_or_runs_twice_in_memory() {
    scenario::run(Arc::new(SqliteStore::in_memory())).await;
}

#[tokio::test]
async fn no_item_is_lost_or_runs_twice_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("jobs.db")).unwrap();
    scenario::run(Arc::new(store)).await;
}

/// The second of two equal items is no work that is lost, but may be a mistake of the input.
#[tokio::test]
async fn equal_items_with_one_id_run_once_and_are_counted() {
    let store = SqliteStore::in_memory();
    let orders = [("a", 1), ("b", 2), ("a", 1), ("a", 1)].map(|(id, n)| (id.to_owned(), n));
    let greet = |_: (String, u32), _| async { Ok::<_, String>(()) };
    let workflow = || Workflow::new("ship").store(store.clone()).job_id("ship-1");
    let report = workflow().run(keyed(orders.clone(), |it| it.0.clone()), greet).await.unwrap();
    assert_eq!((report.succeeded(), report.repeated), (2, 2));
    let told = report.to_string();
    assert!(told.contains("\n            2 of the input repeated an earlier item\n"));
    let once = Workflow::new("once").store(store.clone());
    let report = once.run(keyed(orders[..2].to_vec(), |it| it.0.clone()), greet).await.unwrap();
    assert_eq!((report.repeated, report.to_string().contains("repeated")), (0, false));
    // Without ids of their own, equal items are different ones.
    let numbered = Workflow::new("numbered").store(store);
    let report = numbered.run([7, 7], |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    assert_eq!((report.succeeded(), report.repeated), (2, 0));
}
