//! The workflow style of a policy in a file: `max_attempts`, and a `backoff` that contains its
//! delays.

use std::sync::LazyLock;

use retry_rules::file::{Draft, InvalidKeys, Keys, read};
use retry_rules::options::POLICY;
use retry_rules::{Policy, Style};
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer};

/// The keys of a policy in this style, with all their names.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let keys = POLICY.iter().flat_map(|option| {
        // A first wait is inside the backoff, and `attempts` has its second name only.
        let name = Style::Workflow.name(option.field);
        option.keys.iter().skip_while(move |key| Some(**key) != name)
    });
    keys.copied().collect()
});

/// The keys that have been read, but not yet checked.
#[derive(Debug, Default)]
pub(super) struct WorkflowKeys(Draft);

impl WorkflowKeys {
    /// Returns the policy, checked against all rules.
    pub(super) fn policy(&self) -> Result<Policy, InvalidKeys> {
        self.0.finish(Style::Workflow)
    }
}

impl Keys for WorkflowKeys {
    fn keys(&self) -> &'static [&'static str] {
        &KEYS
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        self.0.read(key, map)
    }
}

impl<'de> Deserialize<'de> for WorkflowKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Self::default(), "a map of a policy's settings in the workflow style", deserializer)
    }
}
