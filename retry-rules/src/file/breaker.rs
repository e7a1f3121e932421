//! A [`BreakerConfig`] in a file.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::config_keys::{Count, Number, config_keys, non_default};
use super::invalid_keys::InvalidKeys;
use super::map_only::from_map;
use super::span::Span;
use crate::breaker::{BreakerConfig, HalfOpen, Window};
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::option_rows::breaker_settings;
use crate::rules::table::Rules;

/// Declares [`BreakerKeys`] with a key for each setting of a breaker.
macro_rules! breaker_keys {
    ($(
        $(#[$docs:meta])*
        $name:ident => $Field:ident $parts:tt $keys:tt $Kind:ident $words:tt;
    )*) => {
        config_keys! {
            /// The keys as written in a file: the settings of `breaker(…)` in the attribute.
            struct BreakerKeys of BreakerConfig { $( $name: kinds::$Kind => $Field, )* }
            beside { observe_only: bool, }
        }
    };
}

breaker_settings!(breaker_keys! {});

/// The types of keys, by the kinds of their settings.
mod kinds {
    pub(super) use super::{Count, HalfOpenKey as HalfOpen, Number as Share, Span as Time};
}

/// `probes` or `gradual`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum HalfOpenKey {
    Probes,
    Gradual,
}

impl From<HalfOpenKey> for HalfOpen {
    fn from(key: HalfOpenKey) -> Self {
        match key {
            HalfOpenKey::Probes => Self::Probes,
            HalfOpenKey::Gradual => Self::Gradual,
        }
    }
}

impl BreakerKeys {
    fn checked(&self, style: Style) -> Result<BreakerConfig, InvalidKeys> {
        if self.window_calls.is_some() && self.window_time.is_some() {
            return Err(InvalidKeys::new(
                "window_time",
                "a window is a number of calls or a time: keep `window_calls` or `window_time`",
            ));
        }
        if self.slow_call.is_some() != self.slow_rate.is_some() {
            return Err(InvalidKeys::new(
                if self.slow_call.is_some() { "slow_call" } else { "slow_rate" },
                "`slow_call` and `slow_rate` go together: set both, such as to \"2s\" and 0.5",
            ));
        }
        let (mut config, written) = self.config();
        config.observe_only = self.observe_only.unwrap_or_default();
        let broken = Rules::broken_by_breaker(&config, written);
        if broken.is_empty() {
            return Ok(config);
        }
        Err(InvalidKeys::broken(broken, &config, written, style))
    }
}

impl From<&BreakerConfig> for BreakerKeys {
    /// Writes what differs from the default, except for what the rules call useless.
    fn from(config: &BreakerConfig) -> Self {
        let default = BreakerConfig::new();
        let window = Some(config.window).filter(|window| *window != default.window);
        let window = window.filter(|_| config.is_by_rate());
        let (window_calls, window_time) = match window {
            Some(Window::Calls(calls)) => (Some(Count(calls)), None),
            Some(Window::Time(time)) => (None, Some(Span(time))),
            None => (None, None),
        };
        let minimum_calls = non_default(Count(config.minimum_calls), Count(default.minimum_calls));
        Self {
            failure_threshold: config.is_threshold_set.then_some(Count(config.failure_threshold)),
            failure_rate: config.failure_rate.map(Number),
            window_calls,
            window_time,
            minimum_calls: minimum_calls.filter(|_| config.is_by_rate()),
            slow_call: config.slow_calls.map(|slow| Span(slow.longer_than)),
            slow_rate: config.slow_calls.map(|slow| Number(slow.rate)),
            success_threshold: non_default(
                Count(config.success_threshold),
                Count(default.success_threshold),
            ),
            timeout: non_default(Span(config.timeout), Span(default.timeout)),
            timeout_growth: non_default(
                Number(config.timeout_growth),
                Number(default.timeout_growth),
            ),
            max_timeout: config.max_timeout.map(Span).filter(|_| config.grows()),
            timeout_jitter: non_default(
                Number(config.timeout_jitter),
                Number(default.timeout_jitter),
            ),
            half_open_requests: non_default(
                Count(config.half_open_requests),
                Count(default.half_open_requests),
            ),
            half_open_for: config.half_open_for.map(Span),
            half_open: (config.half_open == HalfOpen::Gradual).then_some(HalfOpenKey::Gradual),
            stage_time: config
                .stage_time
                .map(Span)
                .filter(|_| config.half_open == HalfOpen::Gradual),
            abandoned_after: config.abandoned_after.map(Span),
            hold: config.hold.map(Span),
            observe_only: non_default(config.observe_only, default.observe_only),
        }
    }
}

impl<'de> Deserialize<'de> for BreakerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: BreakerKeys = from_map(deserializer, "a map of a breaker's settings")?;
        keys.checked(Style::of_file::<D::Error>()).map_err(D::Error::custom)
    }
}

impl Serialize for BreakerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        BreakerKeys::from(self).serialize(serializer)
    }
}
