//! The workflow style: `max_attempts`, and a `backoff` that contains its delays.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::attempts::AttemptsKey;
use super::backoff::BackoffKey;
use super::bound::BoundKey;
use super::draft::Draft;
use super::invalid_keys::InvalidKeys;
use super::jitter::JitterKey;
use super::map_only::from_map;
use super::span::Span;
use crate::policy::Policy;
use crate::rules::field::Field;
use crate::rules::messages::Style;

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

impl<'de> Deserialize<'de> for WorkflowStyle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: WorkflowKeys =
            from_map(deserializer, "a map of a policy's settings in the workflow style")?;
        keys.policy().map(Self).map_err(D::Error::custom)
    }
}

impl From<WorkflowStyle> for Policy {
    fn from(style: WorkflowStyle) -> Self {
        style.0
    }
}

impl TryFrom<WorkflowKeys> for WorkflowStyle {
    type Error = InvalidKeys;

    fn try_from(keys: WorkflowKeys) -> Result<Self, InvalidKeys> {
        keys.policy().map(Self)
    }
}

/// The keys of the workflow style as written in a file, parsed but not yet checked.
///
/// For readers that know where each key is: [`InvalidKeys`] says which one is wrong.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowKeys {
    max_attempts: Option<AttemptsKey>,
    backoff: Option<BackoffKey>,
    max_delay: Option<BoundKey>,
    first_delay: Option<Span>,
    jitter: Option<JitterKey>,
    jitter_factor: Option<f64>,
    #[serde(alias = "budget")]
    retry_budget: Option<BoundKey>,
    max_elapsed: Option<BoundKey>,
    max_retry_after: Option<BoundKey>,
}

impl WorkflowKeys {
    /// Returns the policy, checked against all rules.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    pub fn policy(&self) -> Result<Policy, InvalidKeys> {
        let mut draft = Draft::default();
        if let Some(AttemptsKey(attempts)) = self.max_attempts {
            draft.write(Field::Attempts).attempts = attempts;
        }
        if let Some(backoff) = self.backoff {
            draft.backoff(backoff, None)?;
        }
        if let Some(BoundKey(max_delay)) = self.max_delay {
            draft.write(Field::MaxDelay).max_delay = max_delay;
        }
        if let Some(Span(delay)) = self.first_delay {
            draft.write(Field::FirstDelay).first_delay = Some(delay);
        }
        draft.jitter(self.jitter, self.jitter_factor)?;
        if let Some(BoundKey(budget)) = self.retry_budget {
            draft.write(Field::Budget).budget = budget;
        }
        if let Some(BoundKey(max_elapsed)) = self.max_elapsed {
            draft.write(Field::MaxElapsed).max_elapsed = max_elapsed;
        }
        if let Some(BoundKey(longest)) = self.max_retry_after {
            draft.write(Field::MaxRetryAfter).max_retry_after = longest;
        }
        draft.finish(Style::Workflow)
    }
}
