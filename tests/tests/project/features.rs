//! `cargo test --workspace` runs the tests of every feature but those that bring another crate's
//! client, which CI tests beside it. A new feature would otherwise go untested.

use std::collections::BTreeSet;

use crate::dependencies::metadata;

/// What an error of these crates is by its type.
const CLIENTS: [&str; 8] = [
    "hyper-util",
    "lettre",
    "redis",
    "sqlx-0_8",
    "sqlx-0_9",
    "tokio-postgres",
    "tonic",
    "tungstenite",
];

/// Another timer, without which a test here sees what happens: `tests/any-runtime` has its tests.
const ANOTHER_TIMER: &str = "any-runtime";

#[test]
fn every_feature_that_brings_no_client_is_tested_by_default() {
    let metadata = metadata(false);
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a list");
    let mut untested = BTreeSet::new();
    for package in metadata["packages"].as_array().expect("a list") {
        // Dependencies have a source; what is not published has an empty list of registries.
        if !(package["source"].is_null() && package["publish"].is_null()) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == package["id"]).expect("a node");
        let enabled = node["features"].as_array().expect("a list");
        for feature in package["features"].as_object().expect("a map").keys() {
            if !enabled.iter().any(|enabled| enabled == feature) {
                untested.insert(feature.clone());
            }
        }
    }
    let elsewhere: BTreeSet<_> =
        CLIENTS.into_iter().chain([ANOTHER_TIMER]).map(str::to_owned).collect();
    assert_eq!(untested, elsewhere);
}
