//! Dead letters that a program re-drives, and then runs its workflow again.

#[path = "../../../retry-workflow/tests/behaviour/redriven/scenario.rs"]
mod scenario;

use std::sync::Arc;

use crate::fixture::Place;

#[tokio::test]
async fn a_run_after_a_re_drive_continues_the_job() {
    let Some(place) = Place::new() else { return };
    scenario::run(Arc::new(place.open().await)).await;
}
