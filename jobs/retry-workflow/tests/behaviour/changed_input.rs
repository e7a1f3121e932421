//! Inputs that change while their job is unfinished.

mod polling;
mod scenario;

use std::sync::Arc;

use retry_workflow::SqliteStore;

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
