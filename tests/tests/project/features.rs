//! `cargo test --workspace` runs the tests of every feature but those that bring another crate's
//! client, which CI tests beside it. A new feature would otherwise go untested.

use std::collections::BTreeSet;

use crate::dependencies::metadata;

/// The features of the clients whose errors are known by type: their rows begin with them.
fn clients() -> BTreeSet<String> {
    let path = crate::root().join("retry-runtime/src/classify/clients.rs");
    let rows = std::fs::read_to_string(path).expect("the rows");
    let rows = rows.lines().filter_map(|line| line.trim_start().strip_prefix('"'));
    rows.filter_map(|row| Some(row.split_once("\": ")?.0.to_owned())).collect()
}

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
    let clients = clients();
    assert!(clients.contains("tungstenite"), "{clients:?}");
    untested.retain(|feature| !clients.contains(feature));
    assert_eq!(untested, [ANOTHER_TIMER.to_owned()].into());
}

/// A feature of a dependency is on for all crates of a program: with this one, a number that is
/// read through `flatten`, `untagged` or a tag is a map. A library must not do that to its users.
#[test]
fn only_the_command_keeps_all_digits_of_numbers() {
    let metadata = metadata(false);
    let has_it = |package: &&serde_json::Value| {
        let dependencies = package["dependencies"].as_array().expect("a list");
        let features = dependencies.iter().filter_map(|one| one["features"].as_array()).flatten();
        package["source"].is_null() && features.clone().any(|it| it == "arbitrary_precision")
    };
    let packages = metadata["packages"].as_array().expect("a list");
    let with_it: Vec<_> = packages.iter().filter(has_it).map(|one| &one["name"]).collect();
    assert_eq!(with_it, ["retry-workflow-cli"]);
}

/// The features of retry-runtime are listed in its documentation, with the default ones marked, and
/// in the README.
#[test]
fn pages_list_the_features_and_mark_the_default_ones() {
    let metadata = metadata(false);
    let packages = metadata["packages"].as_array().expect("a list");
    let runtime = packages.iter().find(|one| one["name"] == "retry-runtime").expect("the crate");
    let features = runtime["features"].as_object().expect("a map");
    let defaults: BTreeSet<_> = features["default"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    let all: BTreeSet<_> =
        features.keys().map(String::as_str).filter(|it| *it != "default").collect();
    let clients = clients();
    let read = |path: &str| std::fs::read_to_string(crate::root().join(path)).expect("a page");
    for (path, start) in [
        ("retry-runtime/src/lib.rs", "//! | feature |"),
        ("retry-runtime/src/guide/costs.md", "| feature |"),
    ] {
        let page = read(path);
        let rows = page.lines().skip_while(|line| !line.starts_with(start)).skip(2);
        let rows = rows
            .map(|line| line.trim_start_matches("//! "))
            .take_while(|line| line.starts_with('|'));
        let (mut listed, mut marked) = (BTreeSet::new(), BTreeSet::new());
        for row in rows.clone() {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            let names = cells[1].split('`').skip(1).step_by(2);
            listed.extend(names.clone());
            marked.extend(names.filter(|_| cells[1].ends_with("(default)")));
        }
        // Clients are listed by `classify::error`, and here only as examples or with their costs.
        let missing: Vec<_> =
            all.difference(&listed).filter(|it| !clients.contains(**it)).collect();
        assert!(missing.is_empty(), "{path} has no {missing:?}");
        listed.remove("classify::error");
        assert!(listed.is_subset(&all), "{path} lists more than {all:?}: {listed:?}");
        assert_eq!(marked, defaults, "{path}");
    }
    let readme = read("README.md");
    let (_, line) = readme.split_once("Default features: ").expect("the default features");
    let (named, _) = line.split_once('.').expect("the end of the sentence");
    assert_eq!(named.split('`').skip(1).step_by(2).collect::<BTreeSet<_>>(), defaults, "README.md");
}
