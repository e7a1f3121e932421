//! Items that are not ready, and come back later without using up an attempt.

#[path = "../../../retry-workflow/tests/behaviour/postponed/scenario.rs"]
mod scenario;

use std::sync::Arc;

use crate::fixture::Place;

#[tokio::test]
async fn a_postponed_item_uses_up_no_attempt() {
    let Some(place) = Place::new() else { return };
    scenario::run(Arc::new(place.open().await)).await;
}

#[tokio::test]
async fn an_uncounted_failure_postpones_its_item() {
    let Some(place) = Place::new() else { return };
    scenario::uncounted(Arc::new(place.open().await)).await;
}
