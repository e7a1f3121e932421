//! Reading an [`ErrorPolicy`] from a file.

use std::fmt;

use retry_rules::file::{InvalidKeys, Keys, Seconds, Span, read};
use retry_runtime::{Bound, BreakerConfig, Policy};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::workflow_keys::WorkflowKeys;
use super::{ErrorCollection, ErrorPolicy, InvalidErrorPolicy, OnItemFailure, OnOpen};

/// The keys of an [`ErrorPolicy`] in a file, read but not yet checked.
///
/// For readers that know where each key is in the file: [`InvalidErrorPolicy::keys`] says which one
/// is wrong.
///
/// ```
/// use retry_workflow::job::ErrorPolicyKeys;
/// use retry_workflow::ErrorPolicy;
///
/// let json = r#"{ "retry_config": { "max_attempts": 0 } }"#;
/// let keys: ErrorPolicyKeys = serde_json::from_str(json).unwrap();
/// let invalid = ErrorPolicy::try_from(keys).unwrap_err();
/// assert_eq!(invalid.keys(), ["retry_config", "max_attempts"]);
/// ```
#[derive(Debug, Default)]
pub struct ErrorPolicyKeys {
    on_item_failure: Option<OnItemFailure>,
    continue_on_failure: Option<bool>,
    max_failures: Option<u64>,
    failure_threshold: Option<f64>,
    minimum_items: Option<u64>,
    error_collection: Option<ErrorCollection>,
    circuit_breaker: Option<BreakerKeys>,
    retry_config: Option<WorkflowKeys>,
}

impl ErrorPolicyKeys {
    /// The keys of the map under one of these keys, with all their names; for any other, the keys
    /// of the policy itself.
    #[doc(hidden)]
    pub fn below(key: &str) -> &'static [&'static str] {
        match key {
            "circuit_breaker" => BreakerKeys::NAMES,
            "retry_config" => WorkflowKeys::default().keys(),
            _ => Self::default().keys(),
        }
    }
}

impl Keys for ErrorPolicyKeys {
    fn keys(&self) -> &'static [&'static str] {
        &[
            "on_item_failure",
            "continue_on_failure",
            "max_failures",
            "failure_threshold",
            "minimum_items",
            "error_collection",
            "circuit_breaker",
            "retry_config",
        ]
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match key {
            "on_item_failure" => self.on_item_failure = map.next_value()?,
            "continue_on_failure" => self.continue_on_failure = map.next_value()?,
            "max_failures" => self.max_failures = map.next_value()?,
            "failure_threshold" => self.failure_threshold = map.next_value()?,
            "minimum_items" => self.minimum_items = map.next_value()?,
            "error_collection" => self.error_collection = map.next_value()?,
            "circuit_breaker" => self.circuit_breaker = map.next_value()?,
            _ => self.retry_config = map.next_value()?,
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for ErrorPolicyKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Self::default(), "a map that says what happens to items that fail", deserializer)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakerKeys {
    failure_threshold: Option<u32>,
    success_threshold: Option<u32>,
    timeout: Option<Seconds>,
    half_open_requests: Option<u32>,
    hold: Option<Span>,
    on_open: Option<OnOpen>,
}

impl BreakerKeys {
    const NAMES: &[&str] = &[
        "failure_threshold",
        "success_threshold",
        "timeout",
        "half_open_requests",
        "hold",
        "on_open",
    ];

    fn config(&self) -> BreakerConfig {
        let mut config = BreakerConfig::new();
        if let Some(failures) = self.failure_threshold {
            config = config.failure_threshold(failures);
        }
        if let Some(successes) = self.success_threshold {
            config = config.success_threshold(successes);
        }
        if let Some(Seconds(timeout)) = self.timeout {
            config = config.timeout(timeout);
        }
        if let Some(requests) = self.half_open_requests {
            config = config.half_open_requests(requests);
        }
        if let Some(Span(hold)) = self.hold {
            config = config.hold(hold);
        }
        config
    }
}

impl<'de> Deserialize<'de> for ErrorPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ErrorPolicyKeys::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

impl TryFrom<ErrorPolicyKeys> for ErrorPolicy {
    type Error = InvalidErrorPolicy;

    fn try_from(keys: ErrorPolicyKeys) -> Result<Self, InvalidErrorPolicy> {
        let default = Self::new();
        let retry_config = match &keys.retry_config {
            Some(keys) => {
                let policy = keys.policy().and_then(without_server);
                policy.map_err(|invalid| InvalidErrorPolicy {
                    keys: std::iter::once("retry_config").chain(invalid.keys()).collect(),
                    message: invalid.to_string(),
                })?
            }
            None => default.retry_config,
        };
        let policy = Self {
            on_item_failure: keys.on_item_failure.unwrap_or_default(),
            continue_on_failure: keys.continue_on_failure.unwrap_or(default.continue_on_failure),
            max_failures: keys.max_failures,
            failure_threshold: keys.failure_threshold,
            minimum_items: keys.minimum_items.unwrap_or(default.minimum_items),
            error_collection: keys.error_collection.unwrap_or_default(),
            circuit_breaker: keys.circuit_breaker.as_ref().map(BreakerKeys::config),
            on_open: keys.circuit_breaker.and_then(|keys| keys.on_open).unwrap_or_default(),
            retry_config,
        };
        policy.validate()?;
        Ok(policy)
    }
}

/// Returns the policy of the rounds, unless it bounds the waits of servers: a round has none.
fn without_server(policy: Policy) -> Result<Policy, InvalidKeys> {
    if policy.max_retry_after_bound() == Bound::None {
        return Ok(policy);
    }
    Err(InvalidKeys::new(
        "max_retry_after",
        "no server asks for the waits between the rounds of all steps: write `max_retry_after` in \
         the step that calls the server, or remove it",
    ))
}

/// The forms that serde reads by itself.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", remote = "ErrorCollection")]
enum CollectionForm {
    Aggregate,
    Immediate,
    Batched { size: usize },
}

impl<'de> Deserialize<'de> for ErrorCollection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CollectionVisitor)
    }
}

struct CollectionVisitor;

/// `batched:10` is short for `{ batched: { size: 10 } }`.
impl<'de> Visitor<'de> for CollectionVisitor {
    type Value = ErrorCollection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aggregate, immediate, or `batched: { size: 5 }`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<ErrorCollection, E> {
        match word.strip_prefix("batched:").map(|size| size.trim().parse()) {
            Some(Ok(size)) => Ok(ErrorCollection::Batched { size }),
            Some(Err(_)) => Err(E::custom(format!(
                "\"{word}\": write the size of a group as a number, such as `batched:10`"
            ))),
            None if word == "batched" => {
                Err(E::custom("`batched` needs a size: write `batched:10`"))
            }
            None => CollectionForm::deserialize(word.into_deserializer()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ErrorCollection, A::Error> {
        CollectionForm::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de> Deserialize<'de> for OnItemFailure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ActionVisitor)
    }
}

struct ActionVisitor;

/// Any word without a meaning of its own is the name of a handler.
impl<'de> Visitor<'de> for ActionVisitor {
    type Value = OnItemFailure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dlq, retry, skip, stop, or `custom: name` with the name of a handler")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<OnItemFailure, E> {
        Ok(match word {
            "dlq" => OnItemFailure::Dlq,
            "retry" => OnItemFailure::Retry,
            "skip" => OnItemFailure::Skip,
            "stop" => OnItemFailure::Stop,
            handler => OnItemFailure::Custom(handler.to_owned()),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnItemFailure, A::Error> {
        let action = match map.next_key::<String>()? {
            Some(key) if key == "custom" => OnItemFailure::Custom(map.next_value()?),
            Some(key) => {
                return Err(A::Error::custom(format!(
                    "unknown action `{key}`: expected dlq, retry, skip, stop, or `custom: name` with \
                     the name of a handler"
                )));
            }
            None => return Err(A::Error::invalid_length(0, &self)),
        };
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("`on_item_failure` is a single action: keep one"));
        }
        Ok(action)
    }
}
