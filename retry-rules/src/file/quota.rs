//! A [`QuotaConfig`] in a file.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::invalid_keys::InvalidKeys;
use super::map_only::from_map;
use super::non_default::non_default;
use crate::quota::QuotaConfig;
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::table::Rules;

/// Declares the keys of a quota, each with its field.
macro_rules! quota_keys {
    ($( $key:ident: $Key:ty => $Field:ident, )*) => {
        /// The keys as written in a file.
        #[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields)]
        struct QuotaKeys {
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                $key: Option<$Key>,
            )*
        }

        impl QuotaKeys {
            fn config(&self) -> Result<QuotaConfig, InvalidKeys> {
                let mut config = QuotaConfig::new();
                let mut written = Fields::NONE;
                $(
                    if let Some(key) = self.$key {
                        config = config.$key(key);
                        written = written.with(Field::$Field);
                    }
                )*
                let broken = Rules::broken_by_quota(&config);
                if broken.is_empty() {
                    return Ok(config);
                }
                Err(InvalidKeys::broken(broken, None, written, Style::Command))
            }
        }

        impl From<&QuotaConfig> for QuotaKeys {
            /// Writes what differs from the default.
            fn from(config: &QuotaConfig) -> Self {
                let default = QuotaConfig::new();
                Self {
                    $(
                        $key: non_default(config.$key, default.$key).and_then(Into::into),
                    )*
                }
            }
        }
    };
}

quota_keys! {
    capacity: u32 => Capacity,
    retry_cost: u32 => RetryCost,
    timeout_cost: u32 => TimeoutCost,
    throttling_cost: u32 => ThrottlingCost,
    success_refund: u32 => SuccessRefund,
    refill_per_sec: f64 => RefillPerSec,
    share: f64 => Share,
}

impl<'de> Deserialize<'de> for QuotaConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: QuotaKeys = from_map(deserializer, "a map of a quota's settings")?;
        keys.config().map_err(D::Error::custom)
    }
}

impl Serialize for QuotaConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        QuotaKeys::from(self).serialize(serializer)
    }
}
