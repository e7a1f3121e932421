//! The workflow style: `max_attempts`, and a `backoff` that contains its delays.

use std::sync::LazyLock;
use std::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::command::CommandKeys;
use super::invalid_keys::InvalidKeys;
use super::known_keys::{Keys, from_known_keys};
use super::map_only::{from_map, style, unknown_key};
use crate::policy::Policy;
use crate::rules::messages::Style;
use crate::rules::options::POLICY;

/// A policy in the workflow style: `max_attempts`, and a `backoff` that contains its delays.
///
/// ```
/// use retry_rules::Policy;
/// use retry_rules::file::WorkflowStyle;
///
/// let json = r#"{ "max_attempts": 4, "backoff": { "linear": { "initial": "1s", "increment": "2s" } } }"#;
/// let style: WorkflowStyle = serde_json::from_str(json).unwrap();
/// assert_eq!(Policy::from(style).wait(3).as_secs(), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkflowStyle(Policy);

style!(WorkflowStyle of WorkflowKeys, "a map of a policy's settings in the workflow style");

/// The keys of the workflow style as written in a file, parsed but not yet checked.
///
/// For readers that know where each key is: [`InvalidKeys`] says which one is wrong.
#[derive(Clone, Debug, Default)]
pub struct WorkflowKeys(CommandKeys);

/// The keys of a policy in this style, with all their names.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let keys = POLICY.iter().flat_map(|option| {
        // A first wait is inside the backoff, and `attempts` has its second name only.
        let name = Style::Workflow.name(option.field);
        option.keys.iter().skip_while(move |key| Some(**key) != name)
    });
    keys.copied().collect()
});

#[derive(Clone, Copy)]
struct InWorkflow;

impl Keys for InWorkflow {
    fn key<E: Error>(self, word: &str) -> Result<&'static str, E> {
        let known = KEYS.iter().find(|key| **key == word);
        known.copied().ok_or_else(|| unknown_key(word, &KEYS, E::unknown_field(word, &KEYS)))
    }
}

impl<'de> Deserialize<'de> for WorkflowKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let what = "a map of a policy's settings in the workflow style";
        from_known_keys(deserializer, what, InWorkflow).map(Self)
    }
}

impl WorkflowKeys {
    /// Returns the policy, checked against all rules.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    pub fn policy(&self) -> Result<Policy, InvalidKeys> {
        self.0.policy_in(Style::Workflow)
    }
}
