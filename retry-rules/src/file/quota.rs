//! A [`QuotaConfig`] in a file.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::config_keys::{Count, Number, config_keys, non_default};
use super::invalid_keys::InvalidKeys;
use super::map_only::from_map;
use crate::quota::QuotaConfig;
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::table::Rules;

config_keys! {
    /// The keys as written in a file.
    struct QuotaKeys of QuotaConfig {
        capacity: Count => Capacity,
        retry_cost: Count => RetryCost,
        timeout_cost: Count => TimeoutCost,
        throttling_cost: Count => ThrottlingCost,
        success_refund: Count => SuccessRefund,
        refill_per_sec: Number => RefillPerSec,
        share: Number => Share,
    }
    beside {}
}

impl From<&QuotaConfig> for QuotaKeys {
    /// Writes what differs from the default.
    fn from(config: &QuotaConfig) -> Self {
        let default = QuotaConfig::new();
        Self {
            capacity: non_default(Count(config.capacity), Count(default.capacity)),
            retry_cost: non_default(Count(config.retry_cost), Count(default.retry_cost)),
            timeout_cost: non_default(Count(config.timeout_cost), Count(default.timeout_cost)),
            throttling_cost: config.throttling_cost.map(Count),
            success_refund: non_default(
                Count(config.success_refund),
                Count(default.success_refund),
            ),
            refill_per_sec: non_default(
                Number(config.refill_per_sec),
                Number(default.refill_per_sec),
            ),
            share: config.share.map(Number),
        }
    }
}

impl<'de> Deserialize<'de> for QuotaConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: QuotaKeys = from_map(deserializer, "a map of a quota's settings")?;
        let (config, written) = keys.config();
        let broken = Rules::broken_by_quota(&config);
        if broken.is_empty() {
            return Ok(config);
        }
        let style = Style::of_file::<D::Error>();
        Err(D::Error::custom(InvalidKeys::broken(broken, &config, written, style)))
    }
}

impl Serialize for QuotaConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        QuotaKeys::from(self).serialize(serializer)
    }
}
