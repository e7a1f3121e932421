//! Reading an [`ErrorPolicy`] from a file.

use std::time::Duration;

use retry_rules::deserialize_scalar;
use retry_runtime::file::{
    InvalidKeys, MapFrom, Scalar, Span, WorkflowKeys, WrittenNumber, from_map,
};
use retry_runtime::{Bound, BreakerConfig, Policy};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer as _, MapAccess};
use serde::{Deserialize, Deserializer};

use super::{Complaint, ErrorCollection, ErrorPolicy, InvalidErrorPolicy, OnItemFailure, OnOpen};

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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPolicyKeys {
    on_item_failure: Option<OnItemFailure>,
    continue_on_failure: Option<bool>,
    max_failures: Option<u64>,
    failure_threshold: Option<f64>,
    minimum_items: Option<u64>,
    error_collection: Option<ErrorCollection>,
    circuit_breaker: Option<BreakerKeys>,
    retry_config: Option<RetryKeys>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakerKeys {
    failure_threshold: Option<u32>,
    success_threshold: Option<u32>,
    timeout: Option<OpenFor>,
    half_open_requests: Option<u32>,
    hold: Option<OpenFor>,
    on_open: Option<OnOpen>,
}

/// A duration, or a number of seconds.
#[derive(Debug)]
struct OpenFor(Duration);

deserialize_scalar!(OpenFor);

impl Scalar for OpenFor {
    const EXPECTED: &'static str = "a duration such as \"30s\", or a number of seconds";

    fn from_text<E: Error>(text: &str) -> Result<Self, E> {
        Span::from_text(text).map(Self::from)
    }

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        match number {
            WrittenNumber::Unsigned(seconds) => Ok(Self(Duration::from_secs(seconds))),
            WrittenNumber::Negative(_) => Span::from_number(number).map(Self::from),
            WrittenNumber::Float(seconds) => match Duration::try_from_secs_f64(seconds) {
                Ok(time) => Ok(Self(time)),
                Err(error) => Err(E::custom(format!("{seconds} seconds: {error}"))),
            },
        }
    }

    fn from_map<'de, A: MapAccess<'de>>(map: MapFrom<A>) -> Result<Self, A::Error> {
        Span::from_map(map).map(Self::from)
    }
}

retry_rules::conversion!(|span: Span| -> OpenFor { Self(span.into()) });

#[derive(Debug)]
struct RetryKeys(WorkflowKeys);

impl<'de> Deserialize<'de> for RetryKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_map(deserializer, "a map of a policy's settings in the workflow style").map(Self)
    }
}

impl BreakerKeys {
    fn config(&self) -> BreakerConfig {
        let mut config = BreakerConfig::new();
        if let Some(failures) = self.failure_threshold {
            config = config.failure_threshold(failures);
        }
        if let Some(successes) = self.success_threshold {
            config = config.success_threshold(successes);
        }
        if let Some(OpenFor(timeout)) = self.timeout {
            config = config.timeout(timeout);
        }
        if let Some(requests) = self.half_open_requests {
            config = config.half_open_requests(requests);
        }
        if let Some(OpenFor(hold)) = self.hold {
            config = config.hold(hold);
        }
        config
    }
}

impl<'de> Deserialize<'de> for ErrorPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: ErrorPolicyKeys =
            from_map(deserializer, "a map that says what happens to items that fail")?;
        keys.try_into().map_err(D::Error::custom)
    }
}

impl TryFrom<ErrorPolicyKeys> for ErrorPolicy {
    type Error = InvalidErrorPolicy;

    fn try_from(keys: ErrorPolicyKeys) -> Result<Self, InvalidErrorPolicy> {
        let default = Self::new();
        let retry_config = match &keys.retry_config {
            Some(RetryKeys(keys)) => {
                let policy = keys.policy().and_then(without_server);
                policy.map_err(|invalid| InvalidErrorPolicy(Complaint::RetryKeys(invalid)))?
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

deserialize_scalar!(ErrorCollection);

/// The forms that serde reads by itself.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", remote = "ErrorCollection")]
enum CollectionForm {
    Aggregate,
    Immediate,
    Batched { size: usize },
}

/// `batched:10` is short for `{ batched: { size: 10 } }`.
impl Scalar for ErrorCollection {
    const EXPECTED: &'static str = "aggregate, immediate, or `batched: { size: 5 }`";

    fn from_text<E: Error>(word: &str) -> Result<Self, E> {
        match word.strip_prefix("batched:").map(|size| size.trim().parse()) {
            Some(Ok(size)) => Ok(Self::Batched { size }),
            Some(Err(_)) => Err(E::custom(format!(
                "\"{word}\": write the size of a group as a number, such as `batched:10`"
            ))),
            None if word == "batched" => {
                Err(E::custom("`batched` needs a size: write `batched:10`"))
            }
            None => CollectionForm::deserialize(word.into_deserializer()),
        }
    }

    fn from_map<'de, A: MapAccess<'de>>(map: MapFrom<A>) -> Result<Self, A::Error> {
        CollectionForm::deserialize(MapAccessDeserializer::new(map))
    }
}

deserialize_scalar!(OnItemFailure);

/// Any word without a meaning of its own is the name of a handler.
impl Scalar for OnItemFailure {
    const EXPECTED: &'static str =
        "dlq, retry, skip, stop, or `custom: name` with the name of a handler";

    fn from_text<E: Error>(word: &str) -> Result<Self, E> {
        Ok(match word {
            "dlq" => Self::Dlq,
            "retry" => Self::Retry,
            "skip" => Self::Skip,
            "stop" => Self::Stop,
            handler => Self::Custom(handler.to_owned()),
        })
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: MapFrom<A>) -> Result<Self, A::Error> {
        let action = match map.next_key::<String>()? {
            Some(key) if key == "custom" => Self::Custom(map.next_value()?),
            Some(key) => {
                return Err(A::Error::custom(format!(
                    "unknown action `{key}`: expected {}",
                    Self::EXPECTED
                )));
            }
            None => return Err(A::Error::invalid_length(0, &Self::EXPECTED)),
        };
        if map.next_key::<serde::de::IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("`on_item_failure` is a single action: keep one"));
        }
        Ok(action)
    }
}
