//! An [`ErrorPolicy`] as it stands in a file.

use std::fmt;
use std::time::Duration;

use retry_runtime::file::{Span, WorkflowStyle, from_map};
use retry_runtime::{BreakerConfig, Policy};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{ErrorCollection, ErrorPolicy, OnItemFailure, OnOpen};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    on_item_failure: Option<OnItemFailure>,
    continue_on_failure: Option<bool>,
    max_failures: Option<u64>,
    failure_threshold: Option<f64>,
    minimum_items: Option<u64>,
    error_collection: Option<ErrorCollection>,
    circuit_breaker: Option<BreakerKeys>,
    retry_config: Option<WorkflowStyle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakerKeys {
    failure_threshold: Option<u32>,
    success_threshold: Option<u32>,
    timeout: Option<Span>,
    half_open_requests: Option<u32>,
    on_open: Option<OnOpen>,
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
        if let Some(timeout) = &self.timeout {
            config = config.timeout(Duration::from(*timeout));
        }
        if let Some(requests) = self.half_open_requests {
            config = config.half_open_requests(requests);
        }
        config
    }
}

impl<'de> Deserialize<'de> for ErrorPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: Keys = from_map(deserializer, "a map of what becomes of items that fail")?;
        let default = Self::new();
        let policy = Self {
            on_item_failure: keys.on_item_failure.unwrap_or_default(),
            continue_on_failure: keys.continue_on_failure.unwrap_or(default.continue_on_failure),
            max_failures: keys.max_failures,
            failure_threshold: keys.failure_threshold,
            minimum_items: keys.minimum_items.unwrap_or(default.minimum_items),
            error_collection: keys.error_collection.unwrap_or_default(),
            circuit_breaker: keys.circuit_breaker.as_ref().map(BreakerKeys::config),
            on_open: keys.circuit_breaker.and_then(|keys| keys.on_open).unwrap_or_default(),
            retry_config: keys.retry_config.map_or(default.retry_config, Policy::from),
        };
        policy.validate().map_err(D::Error::custom)?;
        Ok(policy)
    }
}

impl<'de> Deserialize<'de> for OnItemFailure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// By hand: any other word is the name of a handler.
        struct ActionVisitor;

        impl<'de> Visitor<'de> for ActionVisitor {
            type Value = OnItemFailure;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("dlq, retry, skip, stop, or `custom: name` of a handler")
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
                            "unknown action `{key}`: expected dlq, retry, skip, stop, or \
                             `custom: name` of a handler"
                        )));
                    }
                    None => return Err(A::Error::invalid_length(0, &self)),
                };
                if map.next_key::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(A::Error::custom("`on_item_failure` is one action: keep one"));
                }
                Ok(action)
            }
        }

        deserializer.deserialize_any(ActionVisitor)
    }
}
