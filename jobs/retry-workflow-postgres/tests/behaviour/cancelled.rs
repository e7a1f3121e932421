//! Items of a running job that a user cancels.

#[path = "../../../retry-workflow/tests/behaviour/cancelled/scenario.rs"]
mod scenario;

use std::sync::Arc;

use crate::fixture::Place;

#[tokio::test]
async fn items_are_cancelled_whether_they_wait_or_run() {
    let Some(place) = Place::new() else { return };
    scenario::run(Arc::new(place.open().await)).await;
}
