//! Random operations on the store beside the model: everything observable has to agree.

use proptest::prelude::*;

use super::fixture::{Place, server};

#[path = "../../../retry-workflow/tests/behaviour/store_model.rs"]
mod store_model;

use store_model::{Stage, filter, operation};

proptest! {
    // Each case creates a schema and compares after each operation; this many take a few seconds.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_as_the_model(
        operations in prop::collection::vec(operation(), 1..40),
        filters in prop::collection::vec(filter(), 3),
    ) {
        if server().is_none() {
            return Ok(());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let place = Place::new().unwrap();
            let mut stage = Stage::play(place.open().await, operations).await;
            stage.compare_all(&filters).await;
            // Another process sees the same.
            stage.store = place.open().await;
            stage.compare_all(&filters).await;
        });
    }
}
