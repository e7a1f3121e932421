//! A [`BreakerConfig`] in a file.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::invalid_keys::InvalidKeys;
use super::map_only::from_map;
use super::non_default::non_default;
use super::span::Span;
use crate::breaker::{BreakerConfig, HalfOpen, Window};
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::table::Rules;

/// Declares the keys of a breaker, each with its field.
macro_rules! breaker_keys {
    ($( $key:ident: $Key:ty => $Field:ident, )*) => {
        /// The keys as written in a file: the settings of `breaker(…)` in the attribute.
        #[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields)]
        struct BreakerKeys {
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                $key: Option<$Key>,
            )*
            #[serde(skip_serializing_if = "Option::is_none")]
            observe_only: Option<bool>,
        }

        impl BreakerKeys {
            fn written(&self) -> Fields {
                let mut written = Fields::NONE;
                $(
                    if self.$key.is_some() {
                        written = written.with(Field::$Field);
                    }
                )*
                written
            }
        }
    };
}

breaker_keys! {
    failure_threshold: u32 => FailureThreshold,
    failure_rate: f64 => FailureRate,
    window_calls: u32 => WindowCalls,
    window_time: Span => WindowTime,
    minimum_calls: u32 => MinimumCalls,
    slow_call: Span => SlowCall,
    slow_rate: f64 => SlowRate,
    success_threshold: u32 => SuccessThreshold,
    timeout: Span => OpenTimeout,
    timeout_growth: f64 => TimeoutGrowth,
    max_timeout: Span => MaxTimeout,
    timeout_jitter: f64 => TimeoutJitter,
    half_open_requests: u32 => HalfOpenRequests,
    half_open_for: Span => HalfOpenFor,
    half_open: HalfOpenKey => HalfOpen,
    stage_time: Span => StageTime,
    abandoned_after: Span => AbandonedAfter,
    hold: Span => Hold,
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

impl From<HalfOpen> for HalfOpenKey {
    fn from(half_open: HalfOpen) -> Self {
        match half_open {
            HalfOpen::Probes => Self::Probes,
            HalfOpen::Gradual => Self::Gradual,
        }
    }
}

impl BreakerKeys {
    fn config(&self) -> Result<BreakerConfig, InvalidKeys> {
        let mut config = BreakerConfig::new();
        config.failure_threshold = self.failure_threshold;
        config.failure_rate = self.failure_rate;
        config.max_timeout = self.max_timeout.map(|Span(time)| time);
        config.abandoned_after = self.abandoned_after.map(|Span(time)| time);
        config.hold = self.hold.map(|Span(time)| time);
        config.half_open_for = self.half_open_for.map(|Span(time)| time);
        config.half_open = self.half_open.map_or(config.half_open, HalfOpen::from);
        config.stage_time = self.stage_time.map(|Span(time)| time);
        match (self.window_calls, self.window_time) {
            (None, None) => {}
            (Some(calls), None) => config = config.window_calls(calls),
            (None, Some(Span(time))) => config = config.window_time(time),
            (Some(_), Some(_)) => {
                return Err(InvalidKeys::new(
                    "window_time",
                    "a window is a number of calls or a time: keep `window_calls` or `window_time`",
                ));
            }
        }
        match (self.slow_call, self.slow_rate) {
            (None, None) => {}
            (Some(Span(longer_than)), Some(rate)) => config = config.slow_calls(longer_than, rate),
            (one, _) => {
                return Err(InvalidKeys::new(
                    if one.is_some() { "slow_call" } else { "slow_rate" },
                    "`slow_call` and `slow_rate` go together: write `slow_call: \"2s\"` and \
                     `slow_rate: 0.5`",
                ));
            }
        }
        let or = |key: Option<u32>, default| key.unwrap_or(default);
        config.minimum_calls = or(self.minimum_calls, config.minimum_calls);
        config.success_threshold = or(self.success_threshold, config.success_threshold);
        config.half_open_requests = or(self.half_open_requests, config.half_open_requests);
        config.timeout = self.timeout.map_or(config.timeout, |Span(time)| time);
        config.timeout_growth = self.timeout_growth.unwrap_or(config.timeout_growth);
        config.timeout_jitter = self.timeout_jitter.unwrap_or(config.timeout_jitter);
        config.observe_only = self.observe_only.unwrap_or(config.observe_only);

        let written = self.written();
        let broken = Rules::broken_by_breaker(&config, written);
        if broken.is_empty() {
            return Ok(config);
        }
        Err(InvalidKeys::broken(broken, None, written, Style::Command))
    }
}

impl From<&BreakerConfig> for BreakerKeys {
    /// Writes what differs from the default, except for what the rules call useless.
    fn from(config: &BreakerConfig) -> Self {
        let default = BreakerConfig::new();
        let window = Some(config.window).filter(|window| *window != default.window);
        let window = window.filter(|_| config.is_by_rate());
        let minimum_calls = non_default(config.minimum_calls, default.minimum_calls);
        Self {
            failure_threshold: config.failure_threshold,
            failure_rate: config.failure_rate,
            window_calls: window.and_then(|window| match window {
                Window::Calls(calls) => Some(calls),
                Window::Time(_) => None,
            }),
            window_time: window.and_then(|window| match window {
                Window::Time(time) => Some(Span(time)),
                Window::Calls(_) => None,
            }),
            minimum_calls: minimum_calls.filter(|_| config.is_by_rate()),
            slow_call: config.slow_calls.map(|slow| Span(slow.longer_than)),
            slow_rate: config.slow_calls.map(|slow| slow.rate),
            success_threshold: non_default(config.success_threshold, default.success_threshold),
            timeout: non_default(Span(config.timeout), Span(default.timeout)),
            timeout_growth: non_default(config.timeout_growth, default.timeout_growth),
            max_timeout: config.max_timeout.map(Span).filter(|_| config.grows()),
            timeout_jitter: non_default(config.timeout_jitter, default.timeout_jitter),
            half_open_requests: non_default(config.half_open_requests, default.half_open_requests),
            half_open_for: config.half_open_for.map(Span),
            half_open: non_default(config.half_open.into(), default.half_open.into()),
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
        keys.config().map_err(D::Error::custom)
    }
}

impl Serialize for BreakerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        BreakerKeys::from(self).serialize(serializer)
    }
}
