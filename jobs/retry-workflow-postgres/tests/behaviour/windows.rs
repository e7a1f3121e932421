//! Jobs with several rates: at most a number of starts, or a sum of costs, in any span of time.

#[path = "../../../retry-workflow/tests/behaviour/windows/scenario.rs"]
mod scenario;

use std::sync::Arc;

use crate::fixture::Place;

#[tokio::test(start_paused = true)]
async fn no_span_has_more_than_its_limit_whoever_is_killed() {
    let Some(place) = Place::new() else { return };
    scenario::run(Arc::new(place.open().await)).await;
}
