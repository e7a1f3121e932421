//! [`Config`]: the settings of a policy, a breaker or a quota, as they are read and written.

use core::time::Duration;
use std::format;
use std::string::String;
use std::sync::LazyLock;
use std::vec::Vec;

use super::value::{ParsedBackoff, ParsedValue, ValueKind};
use crate::breaker::{BreakerConfig, Window};
use crate::policy::Policy;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::quota::QuotaConfig;
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Values;
use crate::rules::options::{self, Kind, Setting};
use crate::rules::table::Rules;

/// Settings with a table.
#[doc(hidden)]
pub trait Config: Copy + Default + Values + 'static {
    /// The description of a map of them.
    const WHAT: &'static str;

    /// Returns the table.
    fn settings() -> &'static [Setting<Self>];

    /// Returns all keys, with all their names.
    fn keys() -> &'static [&'static str];

    /// Returns the rules that they break.
    fn broken(&self, written: Fields) -> Rules;

    /// Returns the value of a field, if it is set or has a default.
    fn written_value(&self, field: Field) -> Option<ParsedValue>;

    /// Sets a field, which is the setting or a part of it.
    ///
    /// # Errors
    /// The value contradicts the value of another field.
    fn set(
        &mut self,
        written: &mut Fields,
        setting: &Setting<Self>,
        field: Field,
        value: ParsedValue,
    ) -> Result<(), String> {
        *self = setting.kind.set(*self, value);
        *written = written.with(field);
        Ok(())
    }
}

impl<C> Kind<C> {
    /// Returns the kind of its value.
    pub(super) const fn value_kind(&self) -> ValueKind {
        match self {
            Self::Attempts(_) => ValueKind::Attempts,
            Self::Count(_) => ValueKind::Count,
            Self::Share(_) => ValueKind::Share,
            Self::Time(_) => ValueKind::Time,
            Self::Bound(_) | Self::Hedge(_) => ValueKind::Bound,
            Self::Backoff(_) => ValueKind::Backoff,
            Self::Jitter(_) => ValueKind::Jitter,
            Self::HalfOpen(_) => ValueKind::HalfOpen,
            Self::Flag(_) => ValueKind::Flag,
        }
    }

    /// Returns the configuration with a value of this kind.
    pub(super) fn set(&self, config: C, value: ParsedValue) -> C {
        match (self, value) {
            (Self::Attempts(set), ParsedValue::Attempts(attempts)) => set(config, attempts),
            (Self::Count(set), ParsedValue::Count(count)) => set(config, count),
            (Self::Share(set), ParsedValue::Share(share)) => set(config, share),
            (Self::Time(set), ParsedValue::Time(time)) => set(config, time),
            (Self::Bound(set), ParsedValue::Bound(bound)) => set(config, bound),
            (Self::Hedge(set), ParsedValue::Bound(after)) => set(config, (after, None)),
            (Self::Jitter(set), ParsedValue::Jitter(jitter)) => set(config, jitter),
            (Self::HalfOpen(set), ParsedValue::HalfOpen(half_open)) => set(config, half_open),
            (Self::Flag(set), ParsedValue::Flag(on)) => set(config, on),
            _ => config,
        }
    }
}

pub(super) fn all_keys<C: Config>() -> Vec<&'static str> {
    C::settings().iter().flat_map(|setting| setting.keys).copied().collect()
}

impl Config for Policy {
    const WHAT: &'static str = "a map of a policy's settings";

    fn settings() -> &'static [Setting<Self>] {
        &options::POLICY
    }

    fn keys() -> &'static [&'static str] {
        &super::KEYS
    }

    fn broken(&self, written: Fields) -> Rules {
        Rules::broken_by_policy(self, written)
    }

    fn written_value(&self, field: Field) -> Option<ParsedValue> {
        Some(match field {
            Field::Attempts => ParsedValue::Attempts(self.attempts),
            Field::Backoff => {
                ParsedValue::Backoff(ParsedBackoff { backoff: self.backoff, initial: None })
            }
            Field::Jitter => ParsedValue::Jitter(self.jitter),
            Field::MaxHedges => ParsedValue::Count(self.max_hedges),
            other => match self.time(other) {
                Bound::None => return None,
                bound => ParsedValue::Bound(bound),
            },
        })
    }

    fn set(
        &mut self,
        written: &mut Fields,
        setting: &Setting<Self>,
        field: Field,
        value: ParsedValue,
    ) -> Result<(), String> {
        match (field, value) {
            (Field::Backoff, ParsedValue::Backoff(ParsedBackoff { backoff, initial })) => {
                self.backoff = backoff;
                if let Some(initial) = initial {
                    set_first_wait(self, written, initial)?;
                }
            }
            (Field::InitialDelay, ParsedValue::Time(initial)) => {
                set_first_wait(self, written, initial)?;
            }
            (Field::Jitter, ParsedValue::Jitter(jitter)) => {
                self.jitter = match self.jitter {
                    Jitter::Proportional(factor) if written.contains(Field::JitterFactor) => {
                        with_factor(jitter, factor)?
                    }
                    _ => jitter,
                };
                *written = written.difference(Fields::NONE.with(Field::JitterFactor));
            }
            (Field::JitterFactor, ParsedValue::Share(factor)) => {
                if written.contains(Field::Jitter) {
                    self.jitter = with_factor(self.jitter, factor)?;
                    return Ok(());
                }
                self.jitter = Jitter::Proportional(factor);
            }
            (Field::MaxHedges, ParsedValue::Count(most)) => self.max_hedges = most,
            (_, value) => *self = setting.kind.set(*self, value),
        }
        *written = written.with(field);
        Ok(())
    }
}

/// Sets the first wait, which may also be a setting of the backoff.
fn set_first_wait(policy: &mut Policy, written: &mut Fields, wait: Duration) -> Result<(), String> {
    if written.contains(Field::InitialDelay) && policy.initial_delay != wait {
        return Err(format!(
            "the first wait is set twice, as `initial_delay` and inside `{}`, with different \
             values: keep one",
            policy.backoff.name()
        ));
    }
    policy.initial_delay = wait;
    *written = written.with(Field::InitialDelay);
    Ok(())
}

/// Returns a jitter with the factor that is given beside it.
fn with_factor(jitter: Jitter, factor: f64) -> Result<Jitter, String> {
    // `true` is the default, whose factor may be changed.
    if jitter == Jitter::DEFAULT || jitter == Jitter::Proportional(factor) {
        return Ok(Jitter::Proportional(factor));
    }
    let jitter = ParsedValue::Jitter(jitter);
    Err(format!(
        "`jitter_factor` only applies to `jitter: true`, but `jitter` is {jitter}: remove one"
    ))
}

impl Config for BreakerConfig {
    const WHAT: &'static str = "a map of a breaker's settings";

    fn settings() -> &'static [Setting<Self>] {
        &options::BREAKER
    }

    fn keys() -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&str>> = LazyLock::new(all_keys::<BreakerConfig>);
        &KEYS
    }

    fn broken(&self, written: Fields) -> Rules {
        Rules::broken_by_breaker(self, written)
    }

    fn written_value(&self, field: Field) -> Option<ParsedValue> {
        let count = |count| Some(ParsedValue::Count(count));
        let share = |share| Some(ParsedValue::Share(share));
        let time = |time| Some(ParsedValue::Time(time));
        match (field, self.window) {
            (Field::FailureThreshold, _) if self.is_threshold_set => count(self.failure_threshold),
            (Field::FailureRate, _) => self.failure_rate.and_then(share),
            (Field::WindowCalls, Window::Calls(calls)) => count(calls),
            (Field::WindowTime, Window::Time(length)) => time(length),
            (Field::MinimumCalls, _) => count(self.minimum_calls),
            (Field::SlowCall, _) => self.slow_calls.and_then(|slow| time(slow.longer_than)),
            (Field::SlowRate, _) => self.slow_calls.and_then(|slow| share(slow.rate)),
            (Field::SuccessThreshold, _) => count(self.success_threshold),
            (Field::OpenTimeout, _) => time(self.timeout),
            (Field::TimeoutGrowth, _) => share(self.timeout_growth),
            (Field::MaxTimeout, _) => self.max_timeout.and_then(time),
            (Field::TimeoutJitter, _) => share(self.timeout_jitter),
            (Field::HalfOpenRequests, _) => count(self.half_open_requests),
            (Field::HalfOpenFor, _) => self.half_open_for.and_then(time),
            (Field::HalfOpen, _) => Some(ParsedValue::HalfOpen(self.half_open)),
            (Field::StageTime, _) => self.stage_time.and_then(time),
            (Field::AbandonedAfter, _) => self.abandoned_after.and_then(time),
            (Field::Hold, _) => self.hold.and_then(time),
            (Field::ObserveOnly, _) => Some(ParsedValue::Flag(self.observe_only)),
            _ => None,
        }
    }
}

impl Config for QuotaConfig {
    const WHAT: &'static str = "a map of a quota's settings";

    fn settings() -> &'static [Setting<Self>] {
        &options::QUOTA
    }

    fn keys() -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&str>> = LazyLock::new(all_keys::<QuotaConfig>);
        &KEYS
    }

    fn broken(&self, _: Fields) -> Rules {
        Rules::broken_by_quota(self)
    }

    fn written_value(&self, field: Field) -> Option<ParsedValue> {
        match field {
            Field::Capacity => Some(ParsedValue::Count(self.capacity)),
            Field::RetryCost => Some(ParsedValue::Count(self.retry_cost)),
            Field::TimeoutCost => Some(ParsedValue::Count(self.timeout_cost)),
            Field::ThrottlingCost => self.throttling_cost.map(ParsedValue::Count),
            Field::SuccessRefund => Some(ParsedValue::Count(self.success_refund)),
            Field::RefillPerSec => Some(ParsedValue::Share(self.refill_per_sec)),
            Field::Share => self.share.map(ParsedValue::Share),
            _ => None,
        }
    }
}
