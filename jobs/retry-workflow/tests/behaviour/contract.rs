//! The contract of stores, in memory and in a file.

#![cfg(feature = "sqlite")]

mod memory {
    use retry_workflow::SqliteStore;

    retry_tests_contract::store_contract!(async || Some((SqliteStore::in_memory(), ())));
}

mod file {
    use retry_workflow::SqliteStore;

    retry_tests_contract::store_contract!(async || {
        let folder = tempfile::tempdir().expect("a folder");
        Some((SqliteStore::open(folder.path().join("store.db")).expect("a store"), folder))
    });
}
