//! [`RetryConfig`]: a policy from a file, with its matchers and its action on failure.

use core::fmt;

use retry_rules::Policy;
use retry_rules::file::{CommandKeys, InvalidKeys, from_map};
use retry_rules::suggest::unknown_word;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::classify::matchers::Matcher;

/// The retry settings in a file: a policy in the command style, with the keys `retry_on` and
/// `on_failure`.
///
/// ```
/// use retry_runtime::{OnFailure, RetryConfig};
///
/// let json = r#"{
///     "attempts": 5, "backoff": "exponential", "jitter": true, "retry_budget": "5m",
///     "retry_on": ["network", { "pattern": "(?i)database is locked" }],
///     "on_failure": { "fallback": { "command": "./save-locally.sh" } }
/// }"#;
/// let config: RetryConfig = serde_json::from_str(json).unwrap();
/// assert_eq!(config.retry_on.unwrap().len(), 2);
/// assert_eq!(config.on_failure, OnFailure::Fallback { command: "./save-locally.sh".into() });
/// ```
///
/// Unknown keys are errors, and the policy has to obey the same rules as in the attribute:
///
/// ```
/// # use retry_runtime::RetryConfig;
/// let error = serde_json::from_str::<RetryConfig>(r#"{ "attempts": 0 }"#).unwrap_err();
/// assert!(error.to_string().contains("at least 1"));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RetryConfig {
    /// How often to retry, how long to wait, and when to give up early.
    pub policy: Policy,
    /// Which failures are retried; `None` for every failure.
    pub retry_on: Option<Vec<Matcher>>,
    /// What to do when the retries end, for whoever runs the command. Default: stop.
    pub on_failure: OnFailure,
}

/// What happens when a call gives up.
///
/// A [`Retrier`](crate::Retrier) always returns its error; acting on it is up to whoever knows the
/// command (`retry-workflow` does).
///
/// ```
/// use retry_runtime::{OnFailure, RetryConfig};
///
/// let config: RetryConfig = serde_json::from_str(r#"{ "on_failure": "continue" }"#).unwrap();
/// assert_eq!(config.on_failure, OnFailure::Continue);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnFailure {
    /// Return the error.
    #[default]
    Stop,
    /// Report the error and continue.
    Continue,
    /// Run another command instead.
    Fallback {
        /// The command.
        command: String,
    },
}

impl<'de> Deserialize<'de> for OnFailure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// By hand, because the derived error for `on_failure: fallback` is of no help.
        struct OnFailureVisitor;

        impl<'de> Visitor<'de> for OnFailureVisitor {
            type Value = OnFailure;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("stop, continue, or `fallback: { command: \"./save-locally.sh\" }`")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<OnFailure, E> {
                match word {
                    "stop" => Ok(OnFailure::Stop),
                    "continue" => Ok(OnFailure::Continue),
                    other => Err(unknown_word(other, &["stop", "continue", "fallback"], &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnFailure, A::Error> {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Fallback {
                    command: String,
                }

                let action = match map.next_key::<String>()? {
                    Some(key) if key == "fallback" => {
                        let Fallback { command } = map.next_value()?;
                        OnFailure::Fallback { command }
                    }
                    // `stop: null`, which some writers produce for a bare word. An unknown key is
                    // reported before its value is read.
                    Some(key) => {
                        let action = Self.visit_str(&key)?;
                        map.next_value::<()>()?;
                        action
                    }
                    None => return Err(A::Error::invalid_length(0, &self)),
                };
                if map.next_key::<IgnoredAny>()?.is_some() {
                    return Err(A::Error::custom("`on_failure` is a single action: keep one"));
                }
                Ok(action)
            }
        }

        deserializer.deserialize_any(OnFailureVisitor)
    }
}

impl From<Policy> for RetryConfig {
    fn from(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }
}

impl<'de> Deserialize<'de> for RetryConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: RetryConfigKeys = from_map(deserializer, "a map of retry settings")?;
        keys.try_into().map_err(D::Error::custom)
    }
}

/// The keys of a [`RetryConfig`] as written in a file, parsed but not yet checked.
///
/// For readers that know where each key is.
///
/// ```
/// use retry_runtime::{RetryConfig, RetryConfigKeys};
///
/// let keys: RetryConfigKeys = serde_json::from_str(r#"{ "retry_on": [] }"#).unwrap();
/// let invalid = RetryConfig::try_from(keys).unwrap_err();
/// assert_eq!(invalid.keys().next(), Some("retry_on"));
/// ```
pub type RetryConfigKeys = CommandKeys<Vec<Matcher>, OnFailure>;

impl TryFrom<RetryConfigKeys> for RetryConfig {
    type Error = InvalidKeys;

    fn try_from(keys: RetryConfigKeys) -> Result<Self, InvalidKeys> {
        if keys.retry_on.as_ref().is_some_and(Vec::is_empty) {
            return Err(InvalidKeys::new(
                "retry_on",
                "`retry_on` is empty: list at least one matcher, as in [network, timeout], or \
                 leave it out",
            ));
        }
        let policy = keys.policy()?;
        let CommandKeys { retry_on, on_failure, .. } = keys;
        Ok(Self { policy, retry_on, on_failure: on_failure.unwrap_or_default() })
    }
}

impl Serialize for RetryConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let on_failure = Some(&self.on_failure).filter(|action| **action != OnFailure::Stop);
        let mut style = CommandKeys::<&Vec<Matcher>, &OnFailure>::from(self.policy);
        style.retry_on = self.retry_on.as_ref();
        style.on_failure = on_failure;
        style.serialize(serializer)
    }
}
