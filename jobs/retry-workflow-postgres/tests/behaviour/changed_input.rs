//! Inputs that change while their job is unfinished.

#[path = "../../../retry-workflow/tests/behaviour/changed_input/scenario.rs"]
mod scenario;

use std::sync::Arc;

use crate::fixture::Place;

#[tokio::test]
async fn no_item_is_lost_or_runs_twice() {
    let Some(place) = Place::new() else { return };
    scenario::run(Arc::new(place.open().await)).await;
}
