//! The one list of rules.
//!
//! Three doors lead to it: the macro calls it on literals and maps the field
//! that a rule names to the user's token; `const` expressions pass it in a
//! `const` assertion; files pass it when they are loaded. No rule is written
//! anywhere else.

pub(crate) mod invalid;

use core::fmt;
use core::time::Duration;

use crate::breaker::{BreakerConfig, Window};
use crate::policy::arithmetic::less;
use crate::policy::backoff::Backoff;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::quota::QuotaConfig;

/// Something that a person writes: an option of the attribute, a key of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the option of its name")]
#[non_exhaustive]
pub enum Field {
    Attempts,
    Backoff,
    Base,
    Increment,
    Delays,
    InitialDelay,
    MaxDelay,
    Jitter,
    JitterFactor,
    Budget,
    Deadline,
    Timeout,
    RetryOn,
    RetryAfter,
    OnRetry,
    Quota,
    Breaker,
    FailureThreshold,
    FailureRate,
    Window,
    MinimumCalls,
    SlowCall,
    SlowRate,
    SuccessThreshold,
    OpenTimeout,
    TimeoutJitter,
    HalfOpenRequests,
    Capacity,
    RetryCost,
    TimeoutCost,
    SuccessRefund,
}

/// A set of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// No field.
    pub const NONE: Self = Self(0);

    /// The set of these fields.
    ///
    /// ```
    /// use retry_rules::{Field, Fields};
    ///
    /// assert!(Fields::of(&[Field::Budget, Field::Jitter]).contains(Field::Jitter));
    /// ```
    pub const fn of(fields: &[Field]) -> Self {
        let mut set = Self::NONE;
        let mut i = 0;
        while i < fields.len() {
            set = set.with(fields[i]);
            i += 1;
        }
        set
    }

    /// This set and `field`.
    pub const fn with(self, field: Field) -> Self {
        Self(self.0 | 1 << field as u32)
    }

    /// Whether `field` is in the set.
    pub const fn contains(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    /// This set without the fields of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The set as a number, for [`from_bits`](Self::from_bits).
    #[doc(hidden)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set that [`bits`](Self::bits) came from: how an expansion writes one.
    #[doc(hidden)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether a field is in both sets.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settings {
    /// A [`Policy`].
    Policy,
    /// A [`BreakerConfig`].
    Breaker,
    /// A [`QuotaConfig`].
    Quota,
}

/// A rule that settings can break.
///
/// Its `Display` is the complaint: what is wrong, and what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each says what it is by its `message`")]
#[non_exhaustive]
pub enum Rule {
    AttemptsZero,
    UnlimitedUnbounded,
    UnlimitedWithoutWaits,
    SingleAttempt,
    BaseNotFinite,
    BaseNotGrowing,
    IncrementZero,
    GrowthFromZero,
    InitialAboveMax,
    CustomDelayAboveMax,
    CustomDelaysUnused,
    InitialBesideCustom,
    BackoffBesideDecorrelated,
    JitterFactorOutOfRange,
    BudgetBelowFirstWait,
    DeadlineBelowFirstWait,
    TimeoutZero,
    TimeoutAboveDeadline,
    FailureThresholdZero,
    FailureThresholdBesideRate,
    FailureRateOutOfRange,
    WindowEmpty,
    WindowTooLarge,
    WindowWithoutRate,
    MinimumCallsZero,
    MinimumCallsAboveWindow,
    SlowRateOutOfRange,
    SuccessThresholdZero,
    OpenTimeoutZero,
    TimeoutJitterOutOfRange,
    HalfOpenRequestsZero,
    CapacityBelowCost,
    RetryCostZero,
    RefundNotBelowCost,
}

use Field as F;

/// The largest count window: what one breaker may keep of the past.
const LARGEST_WINDOW: u32 = 65_536;

impl Rule {
    /// All rules, in the order in which they are reported.
    pub const ALL: &'static [Self] = &[
        Self::AttemptsZero,
        Self::UnlimitedUnbounded,
        Self::UnlimitedWithoutWaits,
        Self::SingleAttempt,
        Self::BaseNotFinite,
        Self::BaseNotGrowing,
        Self::IncrementZero,
        Self::GrowthFromZero,
        Self::InitialAboveMax,
        Self::CustomDelayAboveMax,
        Self::CustomDelaysUnused,
        Self::InitialBesideCustom,
        Self::BackoffBesideDecorrelated,
        Self::JitterFactorOutOfRange,
        Self::BudgetBelowFirstWait,
        Self::DeadlineBelowFirstWait,
        Self::TimeoutZero,
        Self::TimeoutAboveDeadline,
        Self::FailureThresholdZero,
        Self::FailureThresholdBesideRate,
        Self::FailureRateOutOfRange,
        Self::WindowEmpty,
        Self::WindowTooLarge,
        Self::WindowWithoutRate,
        Self::MinimumCallsZero,
        Self::MinimumCallsAboveWindow,
        Self::SlowRateOutOfRange,
        Self::SuccessThresholdZero,
        Self::OpenTimeoutZero,
        Self::TimeoutJitterOutOfRange,
        Self::HalfOpenRequestsZero,
        Self::CapacityBelowCost,
        Self::RetryCostZero,
        Self::RefundNotBelowCost,
    ];

    /// What the rule is about.
    pub const fn settings(self) -> Settings {
        let rule = self as u32;
        if rule < Self::FailureThresholdZero as u32 {
            Settings::Policy
        } else if rule < Self::CapacityBelowCost as u32 {
            Settings::Breaker
        } else {
            Settings::Quota
        }
    }

    /// The fields that the rule reads, the one to blame first.
    pub const fn fields(self) -> &'static [Field] {
        const FIRST_WAIT: [Field; 7] = [
            F::InitialDelay,
            F::Backoff,
            F::Delays,
            F::Jitter,
            F::JitterFactor,
            F::MaxDelay,
            F::RetryAfter,
        ];
        const BUDGET: [Field; 8] = after(F::Budget, FIRST_WAIT);
        const DEADLINE: [Field; 8] = after(F::Deadline, FIRST_WAIT);

        match self {
            Self::AttemptsZero | Self::SingleAttempt => &[F::Attempts],
            Self::UnlimitedUnbounded => &[F::Attempts, F::Budget, F::Deadline],
            Self::UnlimitedWithoutWaits => &[
                F::InitialDelay,
                F::MaxDelay,
                F::Backoff,
                F::Jitter,
                F::Attempts,
                F::Budget,
                F::Deadline,
            ],
            Self::BaseNotFinite | Self::BaseNotGrowing => &[F::Base, F::Backoff],
            Self::IncrementZero => &[F::Increment, F::Backoff],
            Self::GrowthFromZero | Self::InitialBesideCustom => {
                &[F::InitialDelay, F::Backoff, F::Jitter]
            }
            Self::InitialAboveMax => &[F::InitialDelay, F::MaxDelay, F::Backoff, F::Jitter],
            Self::CustomDelayAboveMax => &[F::Delays, F::MaxDelay, F::Backoff],
            Self::CustomDelaysUnused => &[F::Delays, F::Attempts, F::Backoff],
            Self::BackoffBesideDecorrelated => &[F::Backoff, F::Jitter],
            Self::JitterFactorOutOfRange => &[F::JitterFactor, F::Jitter],
            Self::BudgetBelowFirstWait => &BUDGET,
            Self::DeadlineBelowFirstWait => &DEADLINE,
            Self::TimeoutZero => &[F::Timeout],
            Self::TimeoutAboveDeadline => &[F::Timeout, F::Deadline],
            Self::FailureThresholdZero => &[F::FailureThreshold],
            Self::FailureThresholdBesideRate => &[F::FailureThreshold, F::FailureRate, F::SlowCall],
            Self::FailureRateOutOfRange => &[F::FailureRate],
            Self::WindowEmpty | Self::WindowTooLarge => &[F::Window],
            Self::WindowWithoutRate => &[F::Window, F::MinimumCalls, F::FailureRate, F::SlowCall],
            Self::MinimumCallsZero => &[F::MinimumCalls],
            Self::MinimumCallsAboveWindow => &[F::MinimumCalls, F::Window],
            Self::SlowRateOutOfRange => &[F::SlowRate, F::SlowCall],
            Self::SuccessThresholdZero => &[F::SuccessThreshold],
            Self::OpenTimeoutZero => &[F::OpenTimeout],
            Self::TimeoutJitterOutOfRange => &[F::TimeoutJitter],
            Self::HalfOpenRequestsZero => &[F::HalfOpenRequests],
            Self::CapacityBelowCost => &[F::Capacity, F::RetryCost, F::TimeoutCost],
            Self::RetryCostZero => &[F::RetryCost, F::TimeoutCost],
            Self::RefundNotBelowCost => &[F::SuccessRefund, F::RetryCost, F::TimeoutCost],
        }
    }

    /// What is wrong, and what to write instead.
    #[expect(clippy::too_many_lines, reason = "one complaint for each rule")]
    pub const fn message(self) -> &'static str {
        match self {
            Self::AttemptsZero => {
                "`attempts` counts the calls, the first included, so it is at least 1: \
                 write `attempts = 1` for a single call, or leave it out for 3"
            }
            Self::UnlimitedUnbounded => {
                "`attempts = unlimited` never ends by itself: \
                 add a `budget` (bounds the waits) or a `deadline` (bounds the whole call)"
            }
            Self::UnlimitedWithoutWaits => {
                "waits of 0s never use a `budget` up, so `attempts = unlimited` never ends: \
                 add a `deadline` (bounds the whole call), or wait longer than 0s"
            }
            Self::SingleAttempt => {
                "`attempts = 1` never retries, so the options that only matter to a retry do nothing: \
                 write `attempts = 2` or more, or remove them"
            }
            Self::BaseNotFinite => {
                "the base of an exponential backoff must be a finite number, such as `base = 2.0`"
            }
            Self::BaseNotGrowing => {
                "a base of 1.0 or less never grows: \
                 write `backoff = fixed`, or a base above 1 such as `base = 2.0`"
            }
            Self::IncrementZero => {
                "a linear backoff with an increment of 0s never grows: \
                 write `backoff = fixed`, or an increment such as `increment = \"1s\"`"
            }
            Self::GrowthFromZero => {
                "this curve multiplies the initial delay, and from 0s it stays at 0s: \
                 write `backoff = fixed` for no waits at all, or an initial delay above 0s"
            }
            Self::InitialAboveMax => {
                "`initial_delay` (1s unless set) is longer than `max_delay` (30s unless set), which cuts every wait: \
                 lower the one or raise the other"
            }
            Self::CustomDelayAboveMax => {
                "this delay is longer than `max_delay` (30s unless set), which cuts every wait: \
                 lower it or raise `max_delay`"
            }
            Self::CustomDelaysUnused => {
                "there are more custom delays than waits, and the extra ones are never used: \
                 n attempts wait n - 1 times; raise `attempts` (3 unless set) or remove them"
            }
            Self::InitialBesideCustom => {
                "`initial_delay` plays no part in a custom backoff: \
                 make it the first of the custom delays, or remove it"
            }
            Self::BackoffBesideDecorrelated => {
                "`jitter = decorrelated` replaces the backoff curve: \
                 remove `backoff`, or choose another jitter"
            }
            Self::JitterFactorOutOfRange => {
                "a jitter factor is a share from 0.0 to 1.0: write `jitter = 0.3` for ±30 %"
            }
            Self::BudgetBelowFirstWait => {
                "the first wait already exceeds this budget, so it never retries: \
                 raise `budget` or lower `initial_delay` (1s unless set)"
            }
            Self::DeadlineBelowFirstWait => {
                "the first wait already reaches this deadline, so it never retries: \
                 raise `deadline` or lower `initial_delay` (1s unless set)"
            }
            Self::TimeoutZero => {
                "a timeout of 0s cuts every attempt off at once: write a time above it, such as `\"2s\"`"
            }
            Self::TimeoutAboveDeadline => {
                "`timeout` bounds one attempt, `deadline` the whole call, so a longer timeout is never reached: \
                 lower `timeout` or raise `deadline`"
            }
            Self::FailureThresholdZero => {
                "`failure_threshold` counts failures, so it is at least 1; the default is 5"
            }
            Self::FailureThresholdBesideRate => {
                "the breaker opens by consecutive failures or by rate, not by both: \
                 remove `failure_threshold`, or the rate"
            }
            Self::FailureRateOutOfRange => {
                "a failure rate is a share above 0.0 and up to 1.0: write `failure_rate = 0.5` for half of the calls"
            }
            Self::WindowEmpty => {
                "an empty window measures nothing: write a number of calls, such as `window_calls = 100`, \
                 or a time, such as `window_time = \"10s\"`"
            }
            Self::WindowTooLarge => {
                "a window of calls holds at most 65536 of them: write a smaller one, or a time such as `window_time = \"10s\"`"
            }
            Self::WindowWithoutRate => {
                "a window and `minimum_calls` only matter to a rate: \
                 add `failure_rate = 0.5`, or remove them"
            }
            Self::MinimumCallsZero => {
                "`minimum_calls` is at least 1, for a rate over no calls is none; the default is 10"
            }
            Self::MinimumCallsAboveWindow => {
                "`minimum_calls` (10 unless set) is more than the window holds, so the rate would never count: \
                 lower it or widen the window"
            }
            Self::SlowRateOutOfRange => {
                "a rate of slow calls is a share above 0.0 and up to 1.0, and goes with `slow_call`: \
                 write `slow_call = \"2s\", slow_rate = 0.5`"
            }
            Self::SuccessThresholdZero => {
                "`success_threshold` counts successful probes, so it is at least 1; the default is 3"
            }
            Self::OpenTimeoutZero => {
                "a breaker that stays open for 0s protects nothing: write a time such as `timeout = \"30s\"`"
            }
            Self::TimeoutJitterOutOfRange => {
                "`timeout_jitter` is a share from 0.0 to 1.0: write `timeout_jitter = 0.2` for up to 20 % longer"
            }
            Self::HalfOpenRequestsZero => {
                "without probes a breaker never closes again: `half_open_requests` is at least 1; the default is 3"
            }
            Self::CapacityBelowCost => {
                "a bucket that holds less than a retry costs never allows one: \
                 raise `capacity`, or lower `retry_cost` (5 unless set) and `timeout_cost` (10 unless set)"
            }
            Self::RetryCostZero => {
                "a retry that costs nothing is never limited: `retry_cost` and `timeout_cost` are at least 1"
            }
            Self::RefundNotBelowCost => {
                "a retry must cost several successes, or healthy traffic may retry every call: \
                 lower `success_refund` below `retry_cost` and `timeout_cost`"
            }
        }
    }

    const fn broken_by_policy(self, policy: &Policy, written: Fields) -> bool {
        /// Written beside a single attempt, these do nothing.
        const RETRY_ONLY: Fields = Fields::of(&[
            F::Backoff,
            F::InitialDelay,
            F::MaxDelay,
            F::Jitter,
            F::Budget,
            F::RetryOn,
            F::RetryAfter,
            F::OnRetry,
            F::Quota,
        ]);

        let replaced = matches!(policy.jitter, Jitter::Decorrelated);
        match self {
            Self::AttemptsZero => matches!(policy.attempts, Attempts::Limited(0)),
            Self::UnlimitedUnbounded => {
                matches!(policy.attempts, Attempts::Unlimited)
                    && policy.budget.is_none()
                    && policy.deadline.is_none()
            }
            Self::UnlimitedWithoutWaits => {
                let fixed = matches!(policy.backoff, Backoff::Fixed) && !replaced;
                matches!(policy.attempts, Attempts::Unlimited)
                    && policy.budget.is_some()
                    && policy.deadline.is_none()
                    && (policy.max_delay.is_zero() || fixed && policy.initial_delay.is_zero())
            }
            Self::SingleAttempt => {
                matches!(policy.attempts, Attempts::Limited(1)) && written.intersects(RETRY_ONLY)
            }
            Self::BaseNotFinite => match policy.backoff {
                Backoff::Exponential { base } => !base.is_finite(),
                _ => false,
            },
            Self::BaseNotGrowing => match policy.backoff {
                Backoff::Exponential { base } => base.is_finite() && base <= 1.0,
                _ => false,
            },
            Self::IncrementZero => match policy.backoff {
                Backoff::Linear { increment } => increment.is_zero(),
                _ => false,
            },
            Self::GrowthFromZero => {
                let grows =
                    matches!(policy.backoff, Backoff::Exponential { .. } | Backoff::Fibonacci);
                policy.initial_delay.is_zero() && (grows || replaced)
            }
            Self::InitialAboveMax => {
                let used = replaced || !matches!(policy.backoff, Backoff::Custom(_));
                used && less(policy.max_delay, policy.initial_delay)
            }
            Self::CustomDelayAboveMax => policy.custom_delay_above_max().is_some(),
            Self::CustomDelaysUnused => match (policy.backoff, policy.attempts) {
                // With no attempts at all that is the mistake, and the only one.
                (Backoff::Custom(delays), Attempts::Limited(attempts)) => {
                    attempts > 0 && delays.len() > (attempts - 1) as usize
                }
                _ => false,
            },
            Self::InitialBesideCustom => {
                written.contains(F::InitialDelay)
                    && matches!(policy.backoff, Backoff::Custom(_))
                    && !replaced
            }
            Self::BackoffBesideDecorrelated => written.contains(F::Backoff) && replaced,
            Self::JitterFactorOutOfRange => match policy.jitter {
                Jitter::Proportional(factor) => !(factor >= 0.0 && factor <= 1.0),
                _ => false,
            },
            Self::BudgetBelowFirstWait => policy.first_wait_breaks(policy.budget, written, false),
            Self::DeadlineBelowFirstWait => {
                policy.first_wait_breaks(policy.deadline, written, true)
            }
            Self::TimeoutZero => match policy.timeout {
                Some(timeout) => timeout.is_zero(),
                None => false,
            },
            Self::TimeoutAboveDeadline => match (policy.timeout, policy.deadline) {
                (Some(timeout), Some(deadline)) => less(deadline, timeout),
                _ => false,
            },
            _ => false,
        }
    }

    const fn broken_by_breaker(self, breaker: &BreakerConfig, written: Fields) -> bool {
        match self {
            Self::FailureThresholdZero => breaker.failure_threshold == 0,
            Self::FailureThresholdBesideRate => {
                written.contains(F::FailureThreshold) && breaker.is_by_rate()
            }
            Self::FailureRateOutOfRange => match breaker.failure_rate {
                Some(rate) => !is_share(rate),
                None => false,
            },
            Self::WindowEmpty => match breaker.window {
                Window::Calls(calls) => calls == 0,
                Window::Time(time) => time.is_zero(),
            },
            Self::WindowTooLarge => match breaker.window {
                Window::Calls(calls) => calls > LARGEST_WINDOW,
                Window::Time(_) => false,
            },
            Self::WindowWithoutRate => {
                written.intersects(Fields::of(&[F::Window, F::MinimumCalls]))
                    && !breaker.is_by_rate()
            }
            Self::MinimumCallsZero => breaker.minimum_calls == 0,
            Self::MinimumCallsAboveWindow => match breaker.window {
                Window::Calls(calls) => {
                    breaker.is_by_rate() && calls > 0 && breaker.minimum_calls > calls
                }
                Window::Time(_) => false,
            },
            Self::SlowRateOutOfRange => match breaker.slow_calls {
                Some(slow) => !is_share(slow.rate),
                None => false,
            },
            Self::SuccessThresholdZero => breaker.success_threshold == 0,
            Self::OpenTimeoutZero => breaker.timeout.is_zero(),
            Self::TimeoutJitterOutOfRange => {
                !(breaker.timeout_jitter >= 0.0 && breaker.timeout_jitter <= 1.0)
            }
            Self::HalfOpenRequestsZero => breaker.half_open_requests == 0,
            _ => false,
        }
    }

    const fn broken_by_quota(self, quota: &QuotaConfig) -> bool {
        match self {
            Self::CapacityBelowCost => {
                quota.capacity < quota.retry_cost || quota.capacity < quota.timeout_cost
            }
            Self::RetryCostZero => quota.retry_cost == 0 || quota.timeout_cost == 0,
            Self::RefundNotBelowCost => {
                quota.retry_cost > 0
                    && quota.timeout_cost > 0
                    && (quota.success_refund >= quota.retry_cost
                        || quota.success_refund >= quota.timeout_cost)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

const fn after(first: Field, rest: [Field; 7]) -> [Field; 8] {
    [first, rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6]]
}

/// Above 0 and up to 1; a share of nothing would always be reached.
const fn is_share(rate: f64) -> bool {
    rate > 0.0 && rate <= 1.0
}

impl Policy {
    /// The index of the first custom delay above `max_delay`.
    #[doc(hidden)]
    pub const fn custom_delay_above_max(&self) -> Option<usize> {
        if let Backoff::Custom(delays) = self.backoff {
            let mut i = 0;
            while i < delays.len() {
                if less(self.max_delay, delays[i]) {
                    return Some(i);
                }
                i += 1;
            }
        }
        None
    }

    /// Whether even the shortest first wait is beyond `bound`, so that no retry ever happens.
    const fn first_wait_breaks(
        &self,
        bound: Option<Duration>,
        written: Fields,
        met_is_beyond: bool,
    ) -> bool {
        let Some(bound) = bound else { return false };
        // A server's hint may be shorter than the curve. A single attempt has
        // no first wait, and a delay above the cap is a mistake of its own.
        if written.contains(F::RetryAfter)
            || !self.allows_after(1)
            || Rule::InitialAboveMax.broken_by_policy(self, Fields::NONE)
            || Rule::JitterFactorOutOfRange.broken_by_policy(self, Fields::NONE)
        {
            return false;
        }
        let (shortest, _) = self.wait_interval(1, None);
        less(bound, shortest) || met_is_beyond && !less(shortest, bound)
    }
}

/// A set of rules: those that some settings break.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules(u64);

impl Rules {
    /// No rule.
    pub const NONE: Self = Self(0);

    /// The rules that `policy` breaks, of which somebody wrote the fields `written`.
    pub const fn broken_by_policy(policy: &Policy, written: Fields) -> Self {
        let mut set = Self::NONE;
        let mut i = 0;
        while i < Rule::ALL.len() {
            if Rule::ALL[i].broken_by_policy(policy, written) {
                set = set.with(Rule::ALL[i]);
            }
            i += 1;
        }
        set
    }

    /// The rules that `breaker` breaks, of which somebody wrote the fields `written`.
    pub const fn broken_by_breaker(breaker: &BreakerConfig, written: Fields) -> Self {
        let mut set = Self::NONE;
        let mut i = 0;
        while i < Rule::ALL.len() {
            if Rule::ALL[i].broken_by_breaker(breaker, written) {
                set = set.with(Rule::ALL[i]);
            }
            i += 1;
        }
        set
    }

    /// The rules that `quota` breaks.
    pub const fn broken_by_quota(quota: &QuotaConfig) -> Self {
        let mut set = Self::NONE;
        let mut i = 0;
        while i < Rule::ALL.len() {
            if Rule::ALL[i].broken_by_quota(quota) {
                set = set.with(Rule::ALL[i]);
            }
            i += 1;
        }
        set
    }

    /// This set and `rule`.
    pub const fn with(self, rule: Rule) -> Self {
        Self(self.0 | 1 << rule as u64)
    }

    /// Whether `rule` is in the set.
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u64 != 0
    }

    /// Whether no rule is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rules of the set, in the order of [`Rule::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(move |rule| self.contains(*rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_every_rule_in_its_order() {
        // A set keeps a bit for each rule, by its number.
        for (i, rule) in Rule::ALL.iter().enumerate() {
            assert_eq!(*rule as usize, i, "{rule:?}");
        }
        assert_eq!(Rule::ALL.len(), Rule::RefundNotBelowCost as usize + 1);
        assert!(Rule::ALL.len() <= 64);
        assert!((Field::SuccessRefund as u32) < 32);
    }

    #[test]
    fn every_rule_says_whom_to_blame_and_what_to_write() {
        for rule in Rule::ALL {
            assert!(!rule.fields().is_empty(), "{rule:?}");
            assert!(rule.message().len() > 40, "{rule:?}");
        }
    }

    #[test]
    fn the_defaults_keep_all_rules() {
        assert!(Policy::new().validate().is_ok());
        assert!(BreakerConfig::new().validate().is_ok());
        assert!(QuotaConfig::new().validate().is_ok());
    }

    #[test]
    fn a_budget_that_no_wait_uses_up_is_no_bound() {
        let budget = Policy::new().unlimited().backoff(Backoff::Fixed).budget(Duration::MAX);
        let at_once = budget.initial_delay(Duration::ZERO);
        let broken = |policy: Policy| policy.validate().err().map(|invalid| invalid.broken());
        let rule = Some(Rules::NONE.with(Rule::UnlimitedWithoutWaits));
        assert_eq!(broken(at_once), rule);
        assert_eq!(broken(budget.backoff(Backoff::Custom(&[])).max_delay(Duration::ZERO)), rule);
        assert_eq!(broken(budget), None);
        assert_eq!(broken(at_once.deadline(Duration::from_secs(1))), None);
        assert_eq!(broken(at_once.attempts(1_000)), None);
    }

    #[test]
    fn a_single_attempt_beside_a_shared_policys_backoff_is_no_mistake() {
        // Turning the retries of a shared policy off: only what is written beside it is vain.
        let once = Policy::new().backoff(Backoff::Fixed).attempts(1);
        assert!(once.validate_written(Fields::of(&[F::Attempts])).is_ok());
        let invalid = once.validate_written(Fields::of(&[F::Attempts, F::Backoff])).unwrap_err();
        assert!(invalid.broken().contains(Rule::SingleAttempt));
    }
}
