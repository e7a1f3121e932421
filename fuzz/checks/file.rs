//! Properties that hold for any text as a policy in a file, in each style and format.
//!
//! The fuzzer looks for a text that violates one, and `cargo test` checks the texts that the fuzzer
//! has kept.

use std::fmt::Debug;

use retry_rules::{Attempts, Policy};
use retry_runtime::RetryConfig;
use retry_workflow::{ErrorPolicy, TaskKeys};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// # Panics
/// If a property is violated.
pub(crate) fn check(text: &str) {
    for format in [Format::Json, Format::Yaml] {
        if let Some(policy) = format.read::<Policy>(text) {
            keeps_the_rules_and_comes_back(policy, text);
        }
        if let Some(policy) = format.read::<ErrorPolicy>(text) {
            keeps_the_rules_and_comes_back(*policy.get_retry_config(), text);
        }
        if let Some(policy) = format.read::<TaskKeys>(text).and_then(|keys| keys.policy().ok()) {
            keeps_the_rules_and_comes_back(policy, text);
        }
        if let Some(config) = format.read::<RetryConfig>(text) {
            keeps_the_rules_and_comes_back(config.bare_policy, text);
            for again in comes_back(&config, text) {
                assert!(same(again.bare_policy, config.bare_policy), "{text}");
                // Matchers cannot be compared, but their text can.
                assert_eq!(Format::Json.write(&again, text), Format::Json.write(&config, text));
            }
        }
    }
}

fn keeps_the_rules_and_comes_back(policy: Policy, text: &str) {
    if let Err(invalid) = policy.validate() {
        panic!("{text}\nis taken, but {invalid}: {policy:?}");
    }
    for again in comes_back(&policy, text) {
        assert!(same(again, policy), "{text}\n{policy:?}\n{again:?}");
    }
}

/// Returns `true` if the two have the same effect. A policy with a single attempt is written
/// without settings about waits, which the rules would reject.
fn same(one: Policy, other: Policy) -> bool {
    if one.get_attempts() == Attempts::Limited(1) {
        let rest =
            |policy: Policy| (policy.get_attempts(), policy.get_deadline(), policy.get_timeout());
        return rest(one) == rest(other);
    }
    one == other
}

/// Writes and reads back a value in each format.
fn comes_back<T: Serialize + DeserializeOwned + Debug>(value: &T, text: &str) -> [T; 2] {
    [Format::Json, Format::Yaml].map(|format| {
        let written = format.write(value, text);
        format.read(&written).unwrap_or_else(|| {
            panic!("{text}\nis read as {value:?}, which is written as\n{written}\nand not read")
        })
    })
}

#[derive(Clone, Copy)]
enum Format {
    Json,
    Yaml,
}

impl Format {
    fn read<T: DeserializeOwned>(self, text: &str) -> Option<T> {
        match self {
            Self::Json => serde_json::from_str(text).ok(),
            Self::Yaml => serde_saphyr::from_str(text).ok(),
        }
    }

    fn write<T: Serialize + Debug>(self, value: &T, text: &str) -> String {
        let written = match self {
            Self::Json => serde_json::to_string(value).map_err(|error| error.to_string()),
            Self::Yaml => serde_saphyr::to_string(value).map_err(|error| error.to_string()),
        };
        written.unwrap_or_else(|error| panic!("{text}\nis read as {value:?}, not written: {error}"))
    }
}
