//! The nearest valid policy, for one that breaks rules but has to be obeyed all the same. A policy
//! built at runtime never causes a panic, and is never changed silently.

use super::field::{Field, Fields};
use super::invalid::Invalid;
use super::table::{self, Rule, Rules};
use crate::policy::arithmetic::less;
use crate::policy::backoff::Backoff;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};

/// Settings without effect are not a mistake at runtime: they may come from a configuration that
/// is shared.
const INEFFECTIVE: Rules = Rules::from_slice(&[
    Rule::UncountedBesideUnlimited,
    Rule::SingleAttempt,
    Rule::CustomDelaysUnused,
    Rule::InitialBesideCustom,
    Rule::BackoffBesideDecorrelated,
    Rule::MaxElapsedAboveDeadline,
    Rule::MaxHedgesWithoutHedge,
]);

impl Policy {
    /// Returns the nearest policy that can work, which is obeyed instead of this one, and the rules
    /// that this one breaks.
    ///
    /// | this policy has | what is obeyed |
    /// | --- | --- |
    /// | 0 attempts | 1 |
    /// | a base of 1 or less, or not a number; growth from 0 s, or by 0 s | fixed waits |
    /// | a `first_delay`, an `initial_delay`, or a custom delay, above `max_delay` | `max_delay` |
    /// | growth from 30 s or more, and no `max_delay` | 30 s |
    /// | an unlimited `max_delay` for custom delays, or for decorrelated jitter | the default |
    /// | a jitter below 0, or not a number; `up` with 0 | no jitter |
    /// | a jitter above 1 | 1 |
    /// | an added range that ends before it begins | the range, turned round |
    /// | an added range that begins above `max_delay` | it begins at `max_delay` |
    /// | a `max_retry_after` of 0 s | the default |
    /// | a timeout of 0 s, or above the deadline | no timeout |
    /// | a hedge after 0 s, or not before the timeout or the deadline | `unlimited`: no hedges |
    /// | at most 0 hedges | 1 |
    /// | unlimited attempts with no bound | 3 attempts |
    /// | a budget, a deadline or a `max_elapsed` that the first wait exceeds | the same: it never retries |
    ///
    /// A setting that merely has no effect breaks no rule here.
    ///
    /// ```
    /// use retry_rules::{Attempts, Policy};
    ///
    /// let (policy, invalid) = Policy::new().attempts(0).nearest_valid();
    /// assert_eq!(policy.get_attempts(), Attempts::Limited(1));
    /// assert!(invalid.unwrap().to_string().contains("at least 1"));
    ///
    /// assert_eq!(Policy::new().nearest_valid(), (Policy::new(), None));
    /// ```
    pub const fn nearest_valid(self) -> (Self, Option<Invalid>) {
        self.nearest_valid_written(Fields::NONE)
    }

    /// Returns the same for a policy of which only the fields `written` were set explicitly, as in
    /// [`validate_written`](Self::validate_written): if `retry_after` or `wait_by` is one of them, the
    /// first wait is not known.
    pub const fn nearest_valid_written(self, written: Fields) -> (Self, Option<Invalid>) {
        let sanitized = self.sanitize(written);
        // Fixing one rule may reveal another: a budget's, once the delay is shorter.
        let broken = Rules::broken_by_policy(&self, written)
            .union(Rules::broken_by_policy(&sanitized, written))
            .difference(INEFFECTIVE);
        match Invalid::unless_empty(broken) {
            Ok(()) => (sanitized, None),
            Err(invalid) => (sanitized, Some(invalid)),
        }
    }

    /// The attempts of [`nearest_valid_written`](Self::nearest_valid_written), without the rest of
    /// that policy.
    #[doc(hidden)]
    #[inline]
    pub const fn nearest_attempts(&self, written: Fields) -> Attempts {
        match self.attempts {
            Attempts::Limited(0) => Attempts::Limited(1),
            Attempts::Limited(attempts) => Attempts::Limited(attempts),
            Attempts::Unlimited => self.sanitize(written).attempts,
        }
    }

    const fn sanitize(mut self, written: Fields) -> Self {
        if matches!(self.attempts, Attempts::Limited(0)) {
            self.attempts = Attempts::Limited(1);
        }
        self.jitter = match self.jitter {
            Jitter::Proportional(factor) if factor > 1.0 => Jitter::Proportional(1.0),
            Jitter::Up(factor) if factor > 1.0 => Jitter::Up(1.0),
            Jitter::Proportional(factor) if factor.is_nan() || factor < 0.0 => Jitter::None,
            Jitter::Up(factor) if factor.is_nan() || factor <= 0.0 => Jitter::None,
            Jitter::Added { least, most } if less(most, least) => {
                Jitter::Added { least: most, most: least }
            }
            jitter => jitter,
        };
        self.backoff = match self.backoff {
            Backoff::Exponential { base: f64::INFINITY } => Backoff::Exponential { base: f64::MAX },
            Backoff::Exponential { base } if base.is_nan() || base <= 1.0 => Backoff::Fixed,
            Backoff::Linear { increment } if increment.is_zero() => Backoff::Fixed,
            backoff => backoff,
        };
        if table::max_delay_unlimited(&self) {
            self.max_delay = Bound::None;
        }
        if table::growth_without_room(&self) {
            self.max_delay = Bound::Limited(Self::MAX_DELAY);
        }
        if table::initial_above_max(&self) {
            self.initial_delay = self.get_max_delay();
        }
        if table::first_above_max(&self) {
            self.first_delay = Some(self.get_max_delay());
        }
        if let (true, Jitter::Added { most, .. }) = (table::jitter_above_max(&self), self.jitter) {
            self.jitter = Jitter::Added { least: self.get_max_delay(), most };
        }
        if table::grows_from_zero(&self) {
            self.backoff = Backoff::Fixed;
            self.jitter = Jitter::None;
        }
        if self.get_max_retry_after().is_zero() {
            self.max_retry_after = Bound::None;
        }
        self.timeout = match (self.timeout, self.deadline) {
            (Bound::Limited(timeout), _) if timeout.is_zero() => Bound::None,
            (Bound::Limited(timeout), Bound::Limited(deadline)) if less(deadline, timeout) => {
                Bound::None
            }
            (timeout, _) => timeout,
        };
        let is_hedge_late = table::is_late_for(self.get_timeout(), self.get_hedge())
            || table::is_late_for(self.get_deadline(), self.get_hedge());
        match self.get_hedge() {
            Some(after) if after.is_zero() || is_hedge_late => self.hedge = Bound::Unlimited,
            _ => {}
        }
        if self.max_hedges == 0 {
            self.max_hedges = 1;
        }
        // Last, because it checks whether the waits end.
        if table::never_ends(&self) && !written.contains(Field::Cancel) {
            self.attempts = Self::new().attempts;
        }
        self
    }
}
