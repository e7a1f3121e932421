//! Random operations on a store, beside a small model: everything observable has to agree.

#![cfg(feature = "sqlite")]

use proptest::prelude::*;
use retry_workflow::SqliteStore;

use super::store_model::{Stage, filter, operation};

proptest! {
    // Each case opens a file and compares after each operation; this many take a few seconds.
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_store_does_as_the_model(
        operations in prop::collection::vec(operation(), 1..40),
        filters in prop::collection::vec(filter(), 3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.db");
            let store = SqliteStore::open(&path).unwrap();
            let mut sqlite = Stage::play(store, operations).await;
            sqlite.compare_all(&filters).await;
            // It is the same after the file has been closed and opened again.
            let again = SqliteStore::options().must_exist(true);
            sqlite.store = {
                drop(std::mem::replace(&mut sqlite.store, SqliteStore::in_memory()));
                again.open(&path).unwrap()
            };
            sqlite.compare_all(&filters).await;
        });
    }
}
