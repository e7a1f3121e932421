//! The one list of rules. Rules are defined nowhere else.

use core::time::Duration;

use super::field::{self, Field, Fields};
use super::messages::{Number, Part};
use super::row::{Row, attribute, number, part, rules};
use super::set::set;
use crate::breaker::{BreakerConfig, HalfOpen, Window};
use crate::policy::arithmetic::less;
use crate::policy::backoff::Backoff;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::quota::QuotaConfig;

rules! {
    /// Returns the rules that `policy` breaks, where `written` are the fields that were set
    /// explicitly.
    policy: fn broken_by_policy(policy: &Policy, written: Fields) {
        rule AttemptsZero of [attempts]
            message [(attempts) " counts all calls, including the first, so it must be at least 1: \
                  write " (calls 1) " for a single call, or leave it out for the default, " (default attempts 3)]
            when matches!(policy.attempts, Attempts::Limited(0));

        rule UnlimitedUnbounded of [attempts budget deadline max_elapsed]
            message [(attempts = unlimited) " never ends on its own: add a " (budget) " (bounds the waits) or a " (max_elapsed) " (no attempt begins after it); if that is intended, \
                  write " (budget = unlimited)]
            when is_unlimited(policy) && is_unbounded(policy) && !written.contains(Field::Cancel);

        rule UnlimitedWithoutWaits of
            [initial_delay max_delay backoff jitter attempts budget deadline max_elapsed]
            message ["waits of 0s never use up a " (budget) ", so " (attempts = unlimited) " never ends: add a " (max_elapsed) " (no attempt begins after it), or make the waits longer than 0s; \
                  if that is intended, write " (budget = unlimited)]
            when never_ends(policy) && (!is_unbounded(policy) || written.contains(Field::Cancel) && never_waits(policy));

        rule UncountedUnbounded of
            [uncounted budget deadline max_elapsed initial_delay max_delay backoff jitter]
            message [(uncounted) " failures use up no attempt, so a call may never end: add a " (deadline) " (bounds the whole call), a " (max_elapsed) " (no attempt begins after it) or a " (budget) " (bounds the waits, if they are longer than 0s)"]
            when written.contains(Field::Uncounted)
                && !is_unlimited(policy)
                && !policy.is_bounded_by_time()
                && (!written.contains(Field::Cancel) || never_waits(policy));

        rule UncountedBesideUnlimited of [uncounted attempts]
            message [(attempts = unlimited) " counts no attempt, so " (uncounted) " does nothing: remove it, or write a number of attempts"]
            when written.contains(Field::Uncounted) && is_unlimited(policy);

        rule SingleAttempt of [attempts]
            message [(calls 1) " never retries, so options that only affect retries do nothing: \
                  write " (calls 2) " or more, or remove those options"]
            when matches!(policy.attempts, Attempts::Limited(1)) && has_no_effect_once(written);

        rule BaseNotFinite of [base backoff]
            message ["the base of an exponential backoff must be a finite number, such as " (base = 2.0)]
            when matches!(policy.backoff, Backoff::Exponential { base } if !base.is_finite());

        rule BaseNotGrowing of [base backoff]
            message ["a backoff with a base of 1.0 or less never grows: \
                  write " (backoff = fixed) ", or a base above 1, such as " (base = 2.0)]
            when matches!(policy.backoff, Backoff::Exponential { base } if base.is_finite() && base <= 1.0);

        rule IncrementZero of [increment backoff]
            message ["a linear backoff with an increment of 0s never grows: \
                  write " (backoff = fixed) ", or an increment such as " (increment = "1s")]
            when matches!(policy.backoff, Backoff::Linear { increment } if increment.is_zero());

        rule GrowthFromZero of [initial_delay backoff jitter]
            message ["this backoff multiplies the initial delay, so with 0s every wait is 0s: \
                  write " (backoff = fixed) " for no waits at all, or an initial delay above 0s"]
            when grows_from_zero(policy);

        rule InitialAboveMax of [initial_delay max_delay backoff jitter]
            message [(initial_delay or "1s") " is longer than " (max_delay or "30s") ", which caps every wait: \
                  lower the first or raise the second"]
            when initial_above_max(policy);

        rule GrowthWithoutRoom of [initial_delay max_delay backoff jitter]
            message ["waits are capped at 30s unless " (max_delay) " is set, and this backoff does not start below that: \
                  set " (max_delay) ", or write " (backoff = fixed)]
            shows [initial_delay]
            when growth_without_room(policy);

        rule MaxDelayUnlimited of [max_delay backoff jitter]
            message ["custom delays end with " (max_delay) ", and decorrelated jitter grows up to it, so neither works \
                  without an end: write one such as " (max_delay = "30s") ", or remove it"]
            when max_delay_unlimited(policy);

        rule FirstDelayAboveMax of [first_delay max_delay initial_delay backoff delays jitter]
            message [(first_delay) " is longer than " (max_delay or "30s") ", which caps every wait: \
                  lower the first or raise the second"]
            shows [first_delay]
            when first_above_max(policy);

        rule CustomDelayAboveMax of [delays max_delay backoff]
            message ["this delay is longer than " (max_delay) ", which caps every wait: \
                  lower it or raise " (max_delay)]
            when policy.custom_delay_above_max().is_some();

        rule CustomDelaysUnused of [delays attempts backoff first_delay]
            message ["there are more custom delays than waits, so the extra ones are never used: \
                  n attempts have n - 1 waits between them; raise " (attempts or 3) " or remove them"]
            shows [delays]
            when match (policy.backoff, policy.attempts) {
                // Zero attempts are a mistake of their own, and the only one to report.
                (Backoff::Custom(delays), Attempts::Limited(attempts)) => {
                    attempts > 0
                        && delays.len() > waits_by_curve(policy, attempts)
                        && !written.contains(Field::Uncounted)
                }
                _ => false,
            };

        rule InitialBesideCustom of [initial_delay backoff jitter]
            message [(initial_delay) " has no effect on a custom backoff: \
                  make it the first of the custom delays, or remove it"]
            when written.contains(Field::InitialDelay)
                && matches!(policy.backoff, Backoff::Custom(_))
                && !is_decorrelated(policy);

        rule BackoffBesideDecorrelated of [backoff jitter]
            message [(jitter = decorrelated) " replaces the backoff curve: \
                  remove " (backoff) ", or choose another jitter"]
            when written.contains(Field::Backoff) && is_decorrelated(policy);

        rule JitterFactorOutOfRange of [jitter_factor jitter]
            message ["a jitter factor must be between 0.0 and 1.0: write `0.3` for ±30 %"]
            when jitter_out_of_range(policy);

        rule JitterFactorAlone of [jitter_factor]
            message [(jitter_factor) " only applies to " (jitter = true) ": add that, or write the factor as " (jitter)]
            when written.contains(Field::JitterFactor) && !written.contains(Field::Jitter);

        rule JitterUpOutOfRange of [jitter_factor jitter]
            message ["`up` lengthens each wait by a share of it, above 0.0 and at most 1.0: \
                  write " (jitter = up(0.3)) " for up to 30 % more"]
            when up_out_of_range(policy);

        rule JitterRangeReversed of [jitter]
            message ["this range ends before it begins: write the shorter time first, such as " (jitter = "0ms..250ms")]
            when jitter_range_reversed(policy);

        rule JitterAboveMax of [jitter max_delay]
            message ["the least time that this jitter adds is longer than " (max_delay or "30s") ", which caps \
                  every wait: lower the first or raise the second"]
            when jitter_above_max(policy);

        rule FirstDelayAboveBound of
            [first_delay budget deadline max_elapsed initial_delay backoff delays jitter jitter_factor max_delay
             retry_after wait_by]
            message ["the first wait already exceeds a bound of the call, so the call never retries: \
                  lower " (first_delay) ", or raise the bound"]
            shows [first_wait]
            when policy.first_delay.is_some()
                && (exceeds(policy.get_budget(), policy, written)
                    || reaches(policy.get_deadline(), policy, written)
                    || exceeds(policy.get_max_elapsed(), policy, written));

        rule BudgetBelowFirstWait of
            [budget first_delay initial_delay backoff delays jitter jitter_factor max_delay retry_after
             wait_by]
            message ["the first wait already exceeds this budget, so the call never retries: \
                  raise " (budget) " or lower " (initial_delay or "1s")]
            shows [first_wait budget]
            when policy.first_delay.is_none() && exceeds(policy.get_budget(), policy, written);

        rule DeadlineBelowFirstWait of
            [deadline first_delay initial_delay backoff delays jitter jitter_factor max_delay retry_after
             wait_by]
            message ["the first wait already reaches this deadline, so the call never retries: \
                  raise " (deadline) " or lower " (initial_delay or "1s")]
            shows [first_wait deadline]
            when policy.first_delay.is_none() && reaches(policy.get_deadline(), policy, written);

        rule MaxElapsedBelowFirstWait of
            [max_elapsed first_delay initial_delay backoff delays jitter jitter_factor max_delay retry_after
             wait_by]
            message ["the first wait already exceeds this limit, so the call never retries: \
                  raise " (max_elapsed) " or lower " (initial_delay or "1s")]
            shows [first_wait max_elapsed]
            when policy.first_delay.is_none() && exceeds(policy.get_max_elapsed(), policy, written);

        rule MaxRetryAfterZero of [max_retry_after]
            message [(max_retry_after) " of 0s would end each call whose server names a wait: \
                  write a longer time, such as " (max_retry_after = "10m")]
            when policy.get_max_retry_after().is_zero();

        rule TimeoutZero of [timeout]
            message ["a timeout of 0s cuts off every attempt at once: write a longer one, such as \
                  `\"2s\"`"]
            when matches!(policy.get_timeout(), Some(timeout) if timeout.is_zero());

        rule TimeoutAboveDeadline of [timeout deadline]
            message [(timeout) " bounds one attempt and " (deadline) " the whole call, so a timeout \
                  longer than the deadline is never reached: lower " (timeout) " or raise " (deadline)]
            shows [timeout deadline]
            when match (policy.get_timeout(), policy.get_deadline()) {
                (Some(timeout), Some(deadline)) => less(deadline, timeout),
                _ => false,
            };

        rule MaxElapsedAboveDeadline of [max_elapsed deadline]
            message [(max_elapsed) " is longer than " (deadline) ", which ends the whole call before: \
                  lower the first, or remove it"]
            shows [max_elapsed deadline]
            when written.contains(Field::MaxElapsed)
                && match (policy.get_max_elapsed(), policy.get_deadline()) {
                    (Some(max_elapsed), Some(deadline)) => less(deadline, max_elapsed),
                    _ => false,
                };

        rule HedgeZero of [hedge]
            message ["after 0s every attempt would be made twice: write a delay that few of them exceed, such as "
                  (hedge = "200ms")]
            when matches!(policy.get_hedge(), Some(after) if after.is_zero());

        rule HedgeAboveTimeout of [hedge timeout]
            message [(timeout) " cuts off the attempt before a hedge joins it: \
                  lower " (hedge) " or raise " (timeout)]
            shows [hedge timeout]
            when is_late_for(policy.get_timeout(), policy.get_hedge());

        rule HedgeAboveDeadline of [hedge deadline]
            message [(deadline) " ends the whole call before a hedge begins: \
                  lower " (hedge) " or raise " (deadline)]
            shows [hedge deadline]
            when is_late_for(policy.get_deadline(), policy.get_hedge());

        rule MaxHedgesZero of [max_hedges]
            message ["this is how many attempts may join one that does not answer, so it must be at least 1: \
                  write 1, or " (hedge = unlimited) " for none"]
            when policy.max_hedges == 0;

        rule MaxHedgesWithoutHedge of [max_hedges hedge]
            message [(max_hedges) " only applies to hedges: add " (hedge = "200ms") ", or remove it"]
            when written.contains(Field::MaxHedges) && policy.hedge.is_none();
    }

    /// Returns the rules that `breaker` breaks, where `written` are the fields that were set
    /// explicitly.
    breaker: fn broken_by_breaker(breaker: &BreakerConfig, written: Fields) {
        rule FailureThresholdZero of [failure_threshold]
            message [(failure_threshold) " counts failures, so it must be at least 1; \
                  the default is 5"]
            when breaker.get_failure_threshold() == 0;

        rule FailureRateOutOfRange of [failure_rate]
            message ["a failure rate must be above 0.0 and at most 1.0: \
                  write `0.5` for half of the calls"]
            when matches!(breaker.failure_rate, Some(rate) if !is_share(rate));

        rule WindowTwice of [window_time window_calls]
            message ["a window is either a number of calls or a length of time, not both: \
                  remove " (window_calls) " or " (window_time)]
            when written.contains(Field::WindowCalls) && written.contains(Field::WindowTime);

        rule WindowEmpty of [window_calls window_time]
            message ["an empty window measures nothing: write a number of calls, such as " (window_calls = 100)
                  ", or a time, such as " (window_time = "10s")]
            when match breaker.window {
                Window::Calls(calls) => calls == 0,
                Window::Time(time) => time.is_zero(),
            };

        rule WindowTooLarge of [window_calls]
            message ["a window holds at most 65536 calls: write a smaller number, or a time, such as " (window_time = "10s")]
            when matches!(breaker.window, Window::Calls(calls) if calls > LARGEST_WINDOW);

        rule WindowWithoutRate of [window_calls window_time minimum_calls failure_rate slow_call]
            message ["a window and " (minimum_calls) " only apply to a rate: \
                  add " (failure_rate = 0.5) ", or remove them"]
            when written.intersects(RATE_ONLY) && !breaker.is_by_rate();

        rule MinimumCallsZero of [minimum_calls]
            message [(minimum_calls) " must be at least 1, because no calls have no rate; \
                  the default is 10"]
            when breaker.minimum_calls == 0;

        rule MinimumCallsAboveWindow of [minimum_calls window_calls window_time]
            message [(minimum_calls or 10) " is more than the window holds, so the rate is never \
                  evaluated: lower it, or raise " (window_calls or 100)]
            when breaker.is_by_rate()
                && matches!(breaker.window, Window::Calls(calls) if calls > 0 && breaker.minimum_calls > calls);

        rule SlowCallZero of [slow_call]
            message ["every call takes longer than 0s: write the time above which a call is slow, such as "
                  (slow_call = "2s")]
            when matches!(breaker.slow_calls, Some(slow) if slow.longer_than.is_zero());

        rule SlowRateOutOfRange of [slow_rate slow_call]
            message ["a rate of slow calls must be above 0.0 and at most 1.0: \
                  write `0.5` for half of the calls"]
            when matches!(breaker.slow_calls, Some(slow) if !is_share(slow.rate));

        rule SlowCallAlone of [slow_call slow_rate]
            message [(slow_call) " and " (slow_rate) " go together: write " (slow_call = "2s") " and "
                  (slow_rate = 0.5)]
            when written.contains(Field::SlowCall) != written.contains(Field::SlowRate);

        rule SuccessThresholdZero of [success_threshold]
            message [(success_threshold) " counts successful probes, so it must be at least 1; \
                  the default is 3"]
            when breaker.success_threshold == 0;

        rule OpenTimeoutZero of [timeout]
            message ["a breaker that stays open for 0s protects nothing: write a time, such as " (timeout = "30s")]
            when breaker.timeout.is_zero();

        rule TimeoutGrowthOutOfRange of [timeout_growth]
            message ["an open time must grow by a factor of at least 1.0: \
                  write `2.0` to double it each time the breaker opens again"]
            when !(breaker.timeout_growth >= 1.0 && breaker.timeout_growth.is_finite());

        rule MaxTimeoutNotAboveTimeout of [max_timeout timeout_growth timeout]
            message [(max_timeout or "300s") " is not above " (timeout or "30s") ", so the open time cannot grow: \
                  raise the first or lower the second"]
            when breaker.grows() && !less(breaker.timeout, breaker.get_max_timeout());

        rule MaxTimeoutWithoutGrowth of [max_timeout timeout_growth]
            message [(max_timeout) " only applies to an open time that grows: \
                  add " (timeout_growth = 2.0) ", or remove it"]
            when written.contains(Field::MaxTimeout) && !breaker.grows();

        rule TimeoutJitterOutOfRange of [timeout_jitter]
            message [(timeout_jitter) " must be between 0.0 and 1.0: \
                  write `0.2` for up to 20 % longer"]
            when !(breaker.timeout_jitter >= 0.0 && breaker.timeout_jitter <= 1.0);

        rule HalfOpenRequestsZero of [half_open_requests]
            message ["without probes a breaker never closes: " (half_open_requests) " must be at least 1; \
                  the default is 3"]
            when breaker.half_open_requests == 0;

        rule HalfOpenForZero of [half_open_for]
            message ["after 0s the first successful probe would close the breaker: write a time, such as "
                  (half_open_for = "5m") ", or " (success_threshold = 1) " in its place"]
            when matches!(breaker.half_open_for, Some(time) if time.is_zero());

        rule StageTimeZero of [stage_time]
            message ["stages of 0s let all calls through at once: write a time, such as " (stage_time = "3s")
                  ", or remove " (half_open = gradual)]
            when matches!(breaker.stage_time, Some(time) if time.is_zero());

        rule StageTimeWithoutStages of [stage_time half_open]
            message [(stage_time) " only applies to a half-open state with stages: \
                  add " (half_open = gradual) ", or remove it"]
            when written.contains(Field::StageTime) && matches!(breaker.half_open, HalfOpen::Probes);

        rule AbandonedAfterZero of [abandoned_after]
            message ["after 0s every call that is dropped would be a failure, even one that was never made: \
                  write a time, such as " (abandoned_after = "1s")]
            when matches!(breaker.abandoned_after, Some(time) if time.is_zero());

        rule HoldZero of [hold]
            message ["a hold of 0s holds no call: write the longest time that a server may ask all calls \
                  to wait, such as " (hold = "2m") ", or remove it"]
            when matches!(breaker.hold, Some(time) if time.is_zero());
    }

    /// Returns the rules that `quota` breaks.
    quota: fn broken_by_quota(quota: &QuotaConfig) {
        rule CapacityBelowCost of [capacity retry_cost timeout_cost throttling_cost]
            message ["a bucket that holds less than the cost of a retry never allows one: \
                  raise " (capacity) ", or lower " (retry_cost or 5) " and " (timeout_cost or 10)]
            when quota.capacity < quota.retry_cost
                || quota.capacity < quota.timeout_cost
                || quota.capacity < quota.get_throttling_cost();

        rule RetryCostZero of [retry_cost timeout_cost throttling_cost]
            message ["a retry that costs nothing is never limited: " (retry_cost) ", " (timeout_cost)
                  " and " (throttling_cost) " must be at least 1"]
            when cheapest(quota) == 0;

        rule RefundNotBelowCost of [success_refund retry_cost timeout_cost throttling_cost]
            message ["a retry must cost more than a success refunds, or healthy traffic could retry \
                  every call: \
                  lower " (success_refund) " below " (retry_cost) ", " (timeout_cost) " and "
                  (throttling_cost)]
            when cheapest(quota) > 0 && quota.success_refund >= cheapest(quota);

        rule RefillOutOfRange of [refill_per_sec]
            message ["a refill is a finite number of tokens, 0 or more: write one such as `0.5`, or leave it out"]
            when !(quota.refill_per_sec >= 0.0 && quota.refill_per_sec.is_finite());

        rule ShareOutOfRange of [share]
            message ["a share of the calls must be above 0.0 and at most 1.0: \
                  write `0.2` for one retry in five calls"]
            when matches!(quota.share, Some(share) if !is_share(share));
    }
}

/// Fields that do nothing if there is a single attempt.
pub(crate) const RETRY_ONLY: Fields = Fields::from_slice(&[
    Field::Backoff,
    Field::InitialDelay,
    Field::MaxDelay,
    Field::FirstDelay,
    Field::Jitter,
    Field::Budget,
    Field::MaxElapsed,
    Field::MaxRetryAfter,
    Field::RetryOn,
    Field::RetryAfter,
    Field::WaitBy,
    Field::OnRetry,
    Field::Quota,
]);

/// Returns whether one of these fields does nothing if there is a single attempt. `when_open` is
/// written if the call waits for its breaker, and `hold` if that breaker may hold calls.
const fn has_no_effect_once(written: Fields) -> bool {
    let waits = written.contains(Field::WhenOpen);
    let holds = written.contains(Field::Hold);
    let mut ineffective = RETRY_ONLY;
    if waits {
        let bounds = Fields::NONE.with(Field::Budget).with(Field::MaxElapsed);
        ineffective = ineffective.difference(bounds);
    }
    // It determines how long the breaker holds all calls.
    if holds {
        ineffective = ineffective.difference(Fields::NONE.with(Field::RetryAfter));
    }
    // It bounds the wait for the end of a hold.
    if waits && holds {
        ineffective = ineffective.difference(Fields::NONE.with(Field::MaxRetryAfter));
    }
    // A failure that is not counted is retried all the same.
    written.intersects(ineffective) && !written.contains(Field::Uncounted)
}

/// Fields that do nothing if only consecutive failures count.
const RATE_ONLY: Fields =
    Fields::from_slice(&[Field::WindowCalls, Field::WindowTime, Field::MinimumCalls]);

/// The largest window of calls, to limit the memory of one breaker.
const LARGEST_WINDOW: u32 = 65_536;

const fn is_unlimited(policy: &Policy) -> bool {
    matches!(policy.attempts, Attempts::Unlimited)
}

/// Returns whether the jitter replaces the backoff.
const fn is_decorrelated(policy: &Policy) -> bool {
    matches!(policy.jitter, Jitter::Decorrelated)
}

/// Returns whether all waits are 0s, at least from the second one on.
const fn never_waits(policy: &Policy) -> bool {
    let fixed = matches!(policy.backoff, Backoff::Fixed) && !is_decorrelated(policy);
    policy.get_max_delay().is_zero()
        || fixed && policy.initial_delay.is_zero() && !policy.jitter.adds()
}

/// Returns whether no limit on the call was set; `unlimited` counts as one.
const fn is_unbounded(policy: &Policy) -> bool {
    policy.budget.is_none() && policy.deadline.is_none() && policy.max_elapsed.is_none()
}

/// Returns whether nothing ends the attempts.
pub(super) const fn never_ends(policy: &Policy) -> bool {
    is_unlimited(policy) && !policy.is_bounded_by_time()
}

impl Policy {
    /// Returns whether something other than the number of attempts ends a call: waits of 0s never use
    /// up a budget. `budget = unlimited` declares an endless call, so it counts as well.
    #[doc(hidden)]
    pub const fn is_bounded_by_time(&self) -> bool {
        let is_without_waits = !self.has_deadline() && !self.has_max_elapsed() && never_waits(self);
        !is_unbounded(self) && (matches!(self.budget, Bound::Unlimited) || !is_without_waits)
    }
}

pub(super) const fn grows_from_zero(policy: &Policy) -> bool {
    policy.initial_delay.is_zero()
        && !policy.jitter.adds()
        && (is_decorrelated(policy)
            || matches!(policy.backoff, Backoff::Exponential { .. } | Backoff::Fibonacci))
}

/// Returns whether waits grow from the default maximum or above, and no maximum was set. A wait
/// that does not grow needs none.
pub(super) const fn growth_without_room(policy: &Policy) -> bool {
    let grows =
        is_decorrelated(policy) || !matches!(policy.backoff, Backoff::Fixed | Backoff::Custom(_));
    policy.max_delay.is_none() && grows && !less(policy.initial_delay, Policy::MAX_DELAY)
}

pub(super) const fn initial_above_max(policy: &Policy) -> bool {
    let used = is_decorrelated(policy) || !matches!(policy.backoff, Backoff::Custom(_));
    match policy.max_delay {
        Bound::Limited(max) => used && less(max, policy.initial_delay),
        Bound::None | Bound::Unlimited => false,
    }
}

/// Returns whether the waits have no maximum, although only a maximum bounds them.
pub(super) const fn max_delay_unlimited(policy: &Policy) -> bool {
    let needs_end = is_decorrelated(policy) || matches!(policy.backoff, Backoff::Custom(_));
    needs_end && matches!(policy.max_delay, Bound::Unlimited)
}

pub(super) const fn first_above_max(policy: &Policy) -> bool {
    matches!(policy.first_delay, Some(first) if less(policy.get_max_delay(), first))
}

/// Returns how many of the waits between `attempts` follow the backoff.
const fn waits_by_curve(policy: &Policy, attempts: u32) -> usize {
    let waits = attempts.saturating_sub(1) as usize;
    if policy.first_delay.is_some() { waits.saturating_sub(1) } else { waits }
}

/// Returns whether a hedge begins when this bound has been reached already.
pub(super) const fn is_late_for(bound: Option<Duration>, hedge: Option<Duration>) -> bool {
    match (bound, hedge) {
        (Some(bound), Some(hedge)) => !less(hedge, bound),
        _ => false,
    }
}

const fn jitter_out_of_range(policy: &Policy) -> bool {
    matches!(policy.jitter, Jitter::Proportional(factor) if !(factor >= 0.0 && factor <= 1.0))
}

const fn up_out_of_range(policy: &Policy) -> bool {
    matches!(policy.jitter, Jitter::Up(factor) if !(factor > 0.0 && factor <= 1.0))
}

const fn jitter_range_reversed(policy: &Policy) -> bool {
    matches!(policy.jitter, Jitter::Added { least, most } if less(most, least))
}

pub(super) const fn jitter_above_max(policy: &Policy) -> bool {
    match policy.jitter {
        // A range that is reversed is a mistake of its own.
        Jitter::Added { least, most } => less(policy.get_max_delay(), least) && !less(most, least),
        _ => false,
    }
}

/// The shortest possible first wait, or `None` if it is not known: for a single attempt, if a
/// server's hint or the function's own wait may be shorter than the backoff, or if the delays are a
/// mistake of their own.
const fn first_wait(policy: &Policy, written: Fields) -> Option<Duration> {
    if written.intersects(Fields::NONE.with(Field::RetryAfter).with(Field::WaitBy))
        || !policy.allows_after(1) && !written.contains(Field::Uncounted)
        || initial_above_max(policy)
        || growth_without_room(policy)
        || first_above_max(policy)
        || jitter_out_of_range(policy)
        || up_out_of_range(policy)
        || jitter_range_reversed(policy)
        || jitter_above_max(policy)
    {
        return None;
    }
    Some(policy.wait_interval(1, None).0)
}

/// Returns whether the first wait is longer than `bound`.
const fn exceeds(bound: Option<Duration>, policy: &Policy, written: Fields) -> bool {
    match (bound, first_wait(policy, written)) {
        (Some(bound), Some(wait)) => less(bound, wait),
        _ => false,
    }
}

/// Returns whether the first wait is as long as `bound`, or longer.
const fn reaches(bound: Option<Duration>, policy: &Policy, written: Fields) -> bool {
    match (bound, first_wait(policy, written)) {
        (Some(bound), Some(wait)) => !less(wait, bound),
        _ => false,
    }
}

/// The cost of the cheapest retry.
const fn cheapest(quota: &QuotaConfig) -> u32 {
    let costs = [quota.timeout_cost, quota.get_throttling_cost()];
    let mut cheapest = quota.retry_cost;
    let mut i = 0;
    while i < costs.len() {
        if costs[i] < cheapest {
            cheapest = costs[i];
        }
        i += 1;
    }
    cheapest
}

/// Above 0 and up to 1; a rate of 0 would always be reached.
const fn is_share(rate: f64) -> bool {
    rate > 0.0 && rate <= 1.0
}

set! {
    /// A set of rules: those that some settings break.
    pub struct Rules of Rule;
}
