//! [`Policy`]: how often to call, how long to wait, and when to give up early.

pub(crate) mod arithmetic;
pub(crate) mod backoff;
pub(crate) mod bound;
pub(crate) mod jitter;
#[cfg(feature = "std")]
mod interned;
pub(crate) mod display_duration;

use core::fmt;
use core::time::Duration;

use self::arithmetic::{less, max, min, times};
use self::backoff::Backoff;
use self::bound::Bound;
use self::display_duration::DisplayDuration;
use self::jitter::Jitter;

/// The number of calls in all, the first included.
///
/// Attempts are limited or not, so no variant will be added: match it exhaustively.
///
/// ```
/// use retry_rules::{Attempts, Policy};
///
/// assert_eq!(Policy::new().get_attempts(), Attempts::Limited(3));
/// assert_eq!(Policy::new().unlimited().get_attempts(), Attempts::Unlimited);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// At most this many; at least 1.
    Limited(u32),
    /// As many as the budget, the deadline or `max_elapsed` allows.
    Unlimited,
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(attempts) => attempts.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// The number of calls, the waits between them, and the limits that end them early.
///
/// Plain data, `Copy`, built in `const`:
///
/// | part | default |
/// | --- | --- |
/// | [`attempts`](Self::attempts) | 3 |
/// | [`backoff`](Self::backoff) | exponential, with base 2 |
/// | [`initial_delay`](Self::initial_delay) | 1 s |
/// | [`max_delay`](Self::max_delay) | 30 s, or a longer fixed or custom wait |
/// | [`first_delay`](Self::first_delay) | by the curve |
/// | [`jitter`](Self::jitter) | none |
/// | [`budget`](Self::budget), [`deadline`](Self::deadline), [`max_elapsed`](Self::max_elapsed), [`timeout`](Self::timeout) | none |
/// | [`max_retry_after`](Self::max_retry_after) | 1 h |
/// | [`hedge`](Self::hedge) | none; with one, [`max_hedges`](Self::max_hedges) is 1 |
///
/// ```
/// use core::time::Duration;
/// use retry_rules::{Backoff, Policy};
///
/// const POLL: Policy = Policy::new()
///     .unlimited()
///     .backoff(Backoff::Fixed)
///     .deadline(Duration::from_secs(60));
///
/// assert!(POLL.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    #[deprecated(note = "a method sets it: write `Policy::new().attempts(5)`")]
    pub(crate) attempts: Attempts,
    pub(crate) backoff: Backoff,
    pub(crate) initial_delay: Duration,
    /// `None` if not set explicitly.
    pub(crate) max_delay: Bound,
    pub(crate) first_delay: Option<Duration>,
    pub(crate) jitter: Jitter,
    pub(crate) budget: Bound,
    pub(crate) deadline: Bound,
    pub(crate) max_elapsed: Bound,
    /// `None` if not set explicitly.
    pub(crate) max_retry_after: Bound,
    pub(crate) timeout: Bound,
    pub(crate) hedge: Bound,
    pub(crate) max_hedges: u32,
}

impl Policy {
    /// The default for the longest wait.
    pub(crate) const MAX_DELAY: Duration = Duration::from_secs(30);
    /// The default for the longest wait that a server may ask for.
    const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

    /// Creates the default policy: 3 attempts, 1 s and 2 s apart.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::Policy;
    /// let s = Duration::from_secs;
    /// assert!(Policy::new().waits().eq([s(1), s(2)]));
    /// ```
    pub const fn new() -> Self /* then `.attempts(5)` and the like, without a `build()` */ {
        Self {
            attempts: Attempts::Limited(3),
            backoff: Backoff::DEFAULT,
            initial_delay: Duration::from_secs(1),
            max_delay: Bound::None,
            first_delay: None,
            jitter: Jitter::None,
            budget: Bound::None,
            deadline: Bound::None,
            max_elapsed: Bound::None,
            max_retry_after: Bound::None,
            timeout: Bound::None,
            hedge: Bound::None,
            max_hedges: 1,
        }
    }

    crate::accessors! {
        /// Sets the total calls, the first included. Default 3; at least 1.
        ///
        /// ```
        /// # use retry_rules::Policy;
        /// const PATIENT: Policy = Policy::new().attempts(10);
        /// assert!(PATIENT.allows_after(9) && !PATIENT.allows_after(10));
        /// ```
        pub const fn attempts(self, attempts: u32) -> Self { attempts: Attempts::Limited(attempts) }
    }

    /// Sets the retries after the first call: one less than [`attempts`](Self::attempts).
    ///
    /// ```
    /// # use retry_rules::Policy;
    /// assert_eq!(Policy::new().retries(4), Policy::new().attempts(5));
    /// ```
    pub const fn retries(self, retries: u32) -> Self {
        self.attempts(retries.saturating_add(1))
    }

    crate::accessors! {
        /// Removes the limit on calls; a budget, a deadline or `max_elapsed` must end them,
        /// or be [`Bound::Unlimited`].
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// assert!(Policy::new().unlimited().validate().is_err(), "nothing ends it");
        /// assert!(Policy::new().unlimited().budget(Duration::from_secs(60)).validate().is_ok());
        /// ```
        pub const fn unlimited(self) -> Self { attempts: Attempts::Unlimited }

        /// Sets the curve of the waits. Default: exponential with base 2.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Backoff, Policy};
        /// let s = Duration::from_secs;
        /// let linear = Policy::new().attempts(4).backoff(Backoff::Linear { increment: s(5) });
        /// assert!(linear.waits().eq([s(1), s(6), s(11)]));
        /// ```
        pub const fn backoff(self, backoff: Backoff /* such as `Backoff::Fixed` */) -> Self { backoff: backoff }

        /// Sets the first wait. Default 1 s.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let ms = Duration::from_millis;
        /// assert!(Policy::new().initial_delay(ms(100)).waits().eq([ms(100), ms(200)]));
        /// ```
        pub const fn initial_delay(self, delay: Duration /* such as `Duration::from_millis(500)` */) -> Self { initial_delay: delay }

        /// Sets the longest wait, jitter included. Default 30 s; or the `initial_delay` of a
        /// fixed backoff, or the longest delay of a custom one, if that is longer.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let s = Duration::from_secs;
        /// assert!(Policy::new().attempts(5).max_delay(s(3)).waits().eq([s(1), s(2), s(3), s(3)]));
        /// ```
        pub const fn max_delay(self, delay: Duration /* such as `Duration::from_secs(30)` */) -> Self { max_delay: Bound::Limited(delay) }

        /// Sets the longest wait, or that waits grow without end: not for a custom backoff, nor for
        /// decorrelated jitter, which need one. Default: see [`max_delay`](Self::max_delay).
        ///
        /// ```
        /// use core::time::Duration;
        /// use retry_rules::{Bound, Policy};
        ///
        /// let policy = Policy::new().attempts(8).with_max_delay(Bound::Unlimited);
        /// assert_eq!(policy.wait(7), Duration::from_secs(64));
        /// ```
        #[must_use]
        pub const fn with_max_delay(self, max_delay: Bound) -> Self { max_delay: max_delay }

        /// Sets a different first wait: the curve begins at the second. Default: the curve
        /// begins at the first.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let at_once = Policy::new().first_delay(Duration::ZERO);
        /// assert_eq!([1, 2, 3].map(|n| at_once.wait(n).as_secs()), [0, 1, 2]);
        /// ```
        pub const fn first_delay(self, delay: Duration /* such as `Duration::ZERO` */) -> Self { first_delay: Some(delay) }

        /// Sets how waits are spread. Default: not at all.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Jitter, Policy};
        /// let ms = Duration::from_millis;
        /// let policy = Policy::new().jitter(Jitter::Proportional(0.3));
        /// assert_eq!(policy.wait_interval(1, None), (ms(700), ms(1_300)));
        /// ```
        pub const fn jitter(self, jitter: Jitter /* such as `Jitter::Full` */) -> Self { jitter: jitter }

        /// Bounds the sum of the waits, not the time inside the calls. Default: no bound.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let s = Duration::from_secs;
        /// let policy = Policy::new().unlimited().budget(s(10));
        /// assert!(policy.waits().eq([s(1), s(2), s(4)]), "8 s more would exceed it");
        /// ```
        pub const fn budget(self, budget: Duration /* a `RetryQuota`: `quota = OUT` */) -> Self { budget: Bound::Limited(budget) }

        /// Sets the [`budget`](Self::budget) as a bound, which may be none.
        ///
        /// ```
        /// # use retry_rules::{Bound, Policy};
        /// let for_ever = Policy::new().unlimited().with_budget(Bound::Unlimited);
        /// assert!(for_ever.validate().is_ok());
        /// ```
        pub const fn with_budget(self, budget: Bound) -> Self { budget: budget }

        /// Bounds the whole call, the running attempt included. Default: no bound.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let policy = Policy::new().attempts(10).deadline(Duration::from_secs(30));
        /// assert_eq!(policy.longest_total_wait(), Some(Duration::from_secs(30)));
        /// ```
        pub const fn deadline(self, deadline: Duration /* such as `Duration::from_secs(30)` */) -> Self { deadline: Bound::Limited(deadline) }

        /// Sets the [`deadline`](Self::deadline) as a bound, which may be none.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Bound, Policy};
        /// let bounded = Policy::new().deadline(Duration::from_secs(60));
        /// assert_eq!(bounded.with_deadline(Bound::None), Policy::new());
        /// ```
        pub const fn with_deadline(self, deadline: Bound) -> Self { deadline: deadline }

        /// Bounds when attempts begin, from the start of the call; the running one is never
        /// cut off. Default: no bound.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let policy = Policy::new().unlimited().max_elapsed(Duration::from_secs(60));
        /// assert!(policy.has_max_elapsed());
        /// assert!(!policy.is_timed(), "it cuts no attempt off");
        /// ```
        pub const fn max_elapsed(self, max_elapsed: Duration /* such as `Duration::from_secs(30)` */) -> Self { max_elapsed: Bound::Limited(max_elapsed) }

        /// Sets the [`max_elapsed`](Self::max_elapsed) as a bound, which may be none.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Bound, Policy};
        /// let bounded = Policy::new().max_elapsed(Duration::from_secs(60));
        /// assert_eq!(bounded.with_max_elapsed(Bound::None), Policy::new());
        /// ```
        pub const fn with_max_elapsed(self, max_elapsed: Bound) -> Self { max_elapsed: max_elapsed }

        /// Sets the longest wait that a server may ask for: the call ends if the server asks for a
        /// longer one. Default 1 h. A job, which waits in its store, has no bound unless one is set.
        ///
        /// It bounds the wait for a breaker that holds calls as well:
        /// [`BreakerConfig::hold`](crate::BreakerConfig::hold).
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let policy = Policy::new().max_retry_after(Duration::from_secs(600));
        /// assert_eq!(policy.get_max_retry_after(), Duration::from_secs(600));
        /// ```
        pub const fn max_retry_after(self, longest: Duration /* such as `Duration::from_secs(30)` */) -> Self { max_retry_after: Bound::Limited(longest) }

        /// Sets the [`max_retry_after`](Self::max_retry_after) as a bound: [`Bound::None`] is the
        /// default, and with [`Bound::Unlimited`] the call waits for as long as a server asks.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Bound, Policy};
        /// let patient = Policy::new().with_max_retry_after(Bound::Unlimited);
        /// assert_eq!(patient.get_max_retry_after(), Duration::MAX);
        /// ```
        #[must_use]
        pub const fn with_max_retry_after(self, longest: Bound) -> Self { max_retry_after: longest }

        /// Bounds one attempt. Default: no bound.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let policy = Policy::new().timeout(Duration::from_secs(2));
        /// assert!(policy.is_timed());
        /// ```
        pub const fn timeout(self, timeout: Duration /* such as `Duration::from_secs(30)` */) -> Self { timeout: Bound::Limited(timeout) }

        /// Sets the [`timeout`](Self::timeout) as a bound, which may be none.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Bound, Policy};
        /// let bounded = Policy::new().timeout(Duration::from_secs(60));
        /// assert_eq!(bounded.with_timeout(Bound::None), Policy::new());
        /// ```
        pub const fn with_timeout(self, timeout: Bound) -> Self { timeout: timeout }

        /// Sets the time after which an attempt that has not answered is joined by another one: a
        /// hedge. The first success is the attempt's, and the others are dropped. Default none.
        ///
        /// A delay that one call in twenty exceeds makes a twentieth more calls and cuts off most
        /// of the slow tail. Source: Dean and Barroso, "The Tail at Scale", 2013.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let policy = Policy::new().hedge(Duration::from_millis(200));
        /// assert_eq!(policy.get_hedge(), Some(Duration::from_millis(200)));
        /// ```
        pub const fn hedge(self, after: Duration /* such as `Duration::from_millis(200)` */) -> Self { hedge: Bound::Limited(after) }

        /// Sets the [`hedge`](Self::hedge) as a bound, which may be none; `unlimited` starts no
        /// hedges either.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{Bound, Policy};
        /// let hedged = Policy::new().hedge(Duration::from_millis(200));
        /// assert_eq!(hedged.with_hedge(Bound::None), Policy::new());
        /// ```
        #[must_use]
        pub const fn with_hedge(self, hedge: Bound) -> Self { hedge: hedge }

        /// Sets how many [hedges](Self::hedge) may join one attempt, one after the other. Default
        /// 1; at least 1.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::Policy;
        /// let policy = Policy::new().hedge(Duration::from_millis(200)).max_hedges(2);
        /// assert!(policy.validate().is_ok());
        /// ```
        pub const fn max_hedges(self, hedges: u32) -> Self { max_hedges: hedges }

        /// Returns the [`attempts`](Self::attempts) of this policy.
        pub const fn get_attempts(&self) -> Attempts { attempts }

        /// Returns the [`backoff`](Self::backoff) of this policy.
        pub const fn get_backoff(&self) -> Backoff { backoff }

        /// Returns the [`initial_delay`](Self::initial_delay) of this policy.
        pub const fn get_initial_delay(&self) -> Duration { initial_delay }
    }

    /// Returns the [`max_delay`](Self::max_delay) of this policy, or its default;
    /// [`Duration::MAX`] if it is unlimited.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::{Backoff, Policy};
    /// let minute = Policy::new().backoff(Backoff::Fixed).initial_delay(Duration::from_secs(60));
    /// assert_eq!(minute.get_max_delay(), Duration::from_secs(60));
    /// ```
    pub const fn get_max_delay(&self) -> Duration {
        match (&self.max_delay, &self.jitter, &self.backoff) {
            (Bound::Limited(max), ..) => *max,
            (Bound::Unlimited, ..) => Duration::MAX,
            (Bound::None, Jitter::Decorrelated, _) => Self::MAX_DELAY,
            (Bound::None, _, Backoff::Fixed) => max(Self::MAX_DELAY, self.initial_delay),
            (Bound::None, _, Backoff::Custom(delays)) => {
                let mut longest = Self::MAX_DELAY;
                let mut i = 0;
                while i < delays.len() {
                    longest = max(longest, delays[i]);
                    i += 1;
                }
                longest
            }
            (Bound::None, ..) => Self::MAX_DELAY,
        }
    }

    crate::accessors! {
        /// Returns the [`first_delay`](Self::first_delay) of this policy, if it has one.
        pub const fn get_first_delay(&self) -> Option<Duration> { first_delay }

        /// Returns the [`jitter`](Self::jitter) of this policy.
        pub const fn get_jitter(&self) -> Jitter { jitter }

        /// Returns the [`budget`](Self::budget) of this policy, if it has one.
        pub const fn get_budget(&self) -> Option<Duration> { budget.limit() }

        /// Returns the [`deadline`](Self::deadline) of this policy, if it has one.
        pub const fn get_deadline(&self) -> Option<Duration> { deadline.limit() }

        /// Returns the [`max_elapsed`](Self::max_elapsed) of this policy, if it has one.
        pub const fn get_max_elapsed(&self) -> Option<Duration> { max_elapsed.limit() }
    }

    /// Returns the [`max_retry_after`](Self::max_retry_after) of this policy, or its default;
    /// [`Duration::MAX`] if it is unlimited.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::Policy;
    /// assert_eq!(Policy::new().get_max_retry_after(), Duration::from_secs(3_600));
    /// ```
    pub const fn get_max_retry_after(&self) -> Duration {
        match self.max_retry_after {
            Bound::None => Self::MAX_RETRY_AFTER,
            Bound::Unlimited => Duration::MAX,
            Bound::Limited(longest) => longest,
        }
    }

    crate::accessors! {
        /// Returns the [`max_retry_after`](Self::max_retry_after) as it was set.
        #[doc(hidden)]
        pub const fn max_retry_after_bound(&self) -> Bound { max_retry_after }

        /// Returns the delay before a [`hedge`](Self::hedge), if there are any.
        pub const fn get_hedge(&self) -> Option<Duration> { hedge.limit() }

        /// Returns the [`hedge`](Self::hedge) as it was set.
        #[doc(hidden)]
        pub const fn hedge_bound(&self) -> Bound { hedge }

        /// Returns how many hedges may join one attempt.
        pub const fn get_max_hedges(&self) -> u32 { max_hedges }

        /// Returns `true` if attempts are [hedged](Self::hedge).
        pub const fn is_hedged(&self) -> bool { hedge.limit().is_some() }

        /// Returns the [`timeout`](Self::timeout) of this policy, if it has one.
        pub const fn get_timeout(&self) -> Option<Duration> { timeout.limit() }
    }

    /// Returns `true` if an attempt can be cut off: there is a deadline or a timeout.
    pub const fn is_timed(&self) -> bool {
        self.has_deadline() || self.timeout.limit().is_some()
    }

    /// Returns `true` if the sum of the waits is bounded.
    #[inline]
    pub const fn has_budget(&self) -> bool {
        matches!(self.budget, Bound::Limited(_))
    }

    crate::accessors! {
        /// Returns `true` if the whole call is bounded.
        pub const fn has_deadline(&self) -> bool { deadline.limit().is_some() }

        /// Returns `true` if there is a time after which no attempt begins.
        pub const fn has_max_elapsed(&self) -> bool { max_elapsed.limit().is_some() }
    }

    /// Returns the tightest of the bounds that a wait would exceed, with its name.
    #[doc(hidden)]
    pub const fn wait_bound(&self) -> Option<(&'static str, Duration)> {
        let bounds = [
            ("budget", self.budget),
            ("deadline", self.deadline),
            ("max_elapsed", self.max_elapsed),
        ];
        let mut tightest = None;
        let mut i = 0;
        while i < bounds.len() {
            tightest = match (tightest, bounds[i].1.limit()) {
                (Some((_, least)), Some(limit)) if !less(limit, least) => tightest,
                (_, Some(limit)) => Some((bounds[i].0, limit)),
                (_, None) => tightest,
            };
            i += 1;
        }
        tightest
    }

    /// Returns `true` if another call may follow `made` calls.
    ///
    /// ```
    /// # use retry_rules::Policy;
    /// assert!(Policy::new().allows_after(2));
    /// assert!(!Policy::new().allows_after(3));
    /// ```
    pub const fn allows_after(&self, made: u32) -> bool {
        match self.attempts {
            Attempts::Limited(attempts) => made < attempts,
            Attempts::Unlimited => true,
        }
    }

    /// Returns the `n`-th wait (from 1) by the curve, before jitter.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::Policy;
    /// assert_eq!(Policy::new().wait(3), Duration::from_secs(4));
    /// ```
    pub const fn wait(&self, n: u32) -> Duration {
        let max = self.get_max_delay();
        match self.first_delay {
            Some(first) if n <= 1 => min(first, max),
            Some(_) => self.backoff.wait(n - 1, self.initial_delay, max),
            None => self.backoff.wait(n, self.initial_delay, max),
        }
    }

    /// Returns the waits of a call whose attempts all fail at once, following the backoff, before
    /// jitter; endless if nothing ends them. Decorrelated jitter replaces the backoff: each of its
    /// waits is the shortest possible.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::Policy;
    /// let s = Duration::from_secs;
    /// assert!(Policy::new().attempts(5).waits().eq([s(1), s(2), s(4), s(8)]));
    /// assert!(Policy::new().attempts(5).budget(s(10)).waits().eq([s(1), s(2), s(4)]));
    /// ```
    pub fn waits(self) -> impl Iterator<Item = Duration> + Clone {
        let counted = (1..=u32::MAX).chain(core::iter::repeat(u32::MAX));
        let mut total = Duration::ZERO;
        counted.map_while(move |made| {
            if !self.allows_after(made) {
                return None;
            }
            let wait = match self.jitter {
                Jitter::Decorrelated => self.wait_interval(made, None).0,
                _ => self.wait(made),
            };
            total = total.saturating_add(wait);
            let is_beyond = self.wait_bound().is_some_and(|(_, bound)| total > bound);
            (!is_beyond && self.get_deadline() != Some(total)).then_some(wait)
        })
    }

    /// Returns the shortest and longest possible `n`-th wait (from 1), with jitter;
    /// `previous` is the wait before it, if any.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::{Jitter, Policy};
    /// let full = Policy::new().jitter(Jitter::Full);
    /// assert_eq!(full.wait_interval(2, None), (Duration::ZERO, Duration::from_secs(2)));
    /// ```
    #[inline]
    pub const fn wait_interval(&self, n: u32, previous: Option<Duration>) -> (Duration, Duration) {
        // A fixed wait without jitter, first wait and cap needs no arithmetic.
        if let (Backoff::Fixed, Jitter::None, Bound::None, None) =
            (&self.backoff, &self.jitter, &self.max_delay, &self.first_delay)
        {
            return (self.initial_delay, self.initial_delay);
        }
        self.wait_by_curve(n, previous)
    }

    const fn wait_by_curve(&self, n: u32, previous: Option<Duration>) -> (Duration, Duration) {
        let wait = self.wait(n);
        if let Jitter::None = self.jitter {
            return (wait, wait);
        }
        let previous = match (self.first_delay, self.jitter) {
            // The backoff, which this jitter replaces, has not started yet.
            (Some(_), Jitter::Decorrelated) if n <= 1 => return (wait, wait),
            (Some(_), _) if n == 2 => None,
            _ => previous,
        };
        self.jitter.interval(wait, self.initial_delay, self.get_max_delay(), previous)
    }

    /// Returns `true` if nothing but a `budget` bounds a call: waits of 0s would never use it up.
    #[doc(hidden)]
    pub const fn needs_waits(&self) -> bool {
        let is_unlimited = matches!(self.attempts, Attempts::Unlimited);
        is_unlimited && !self.has_deadline() && !self.has_max_elapsed()
    }

    /// Returns the same for a wait `hint` that the program set or a server asked for: at least that,
    /// not capped at `max_delay`, and only jittered upwards. The backoff replaces a wait of 0s if
    /// nothing but a `budget` bounds the call, which would otherwise never end.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::{Jitter, Policy};
    /// let minute = Duration::from_secs(60);
    /// assert_eq!(Policy::new().hint_interval(1, minute, None), (minute, minute));
    /// ```
    pub const fn hint_interval(
        &self,
        n: u32,
        hint: Duration,
        previous: Option<Duration>,
    ) -> (Duration, Duration) {
        let curve = self.wait_interval(n, previous);
        if hint.is_zero() && self.needs_waits() {
            return curve;
        }
        self.jitter.hint_interval(hint, curve)
    }

    /// Returns the longest total wait of a call, or `None` if nothing bounds it.
    ///
    /// An upper bound, except that a server's hints are not counted. Curves that still
    /// grow after a thousand waits count as fully grown from there on.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::Policy;
    /// assert_eq!(Policy::new().longest_total_wait(), Some(Duration::from_secs(3)));
    /// ```
    pub const fn longest_total_wait(&self) -> Option<Duration> {
        const WALKED: u32 = 1_000;

        // A wait that would go beyond this does not begin.
        let bound = match self.wait_bound() {
            Some((_, bound)) => Some(bound),
            None => None,
        };
        let waits = match self.attempts {
            Attempts::Limited(attempts) => attempts.saturating_sub(1),
            Attempts::Unlimited => return bound,
        };
        let mut total = Duration::ZERO;
        let mut previous = None;
        let mut n = 1;
        while n <= waits && n <= WALKED {
            let (_, longest) = self.wait_interval(n, previous);
            total = total.saturating_add(longest);
            previous = Some(longest);
            n += 1;
        }
        if waits > WALKED {
            let rest = waits - WALKED;
            total = total.saturating_add(times(self.get_max_delay(), rest as u64));
        }
        Some(match bound {
            Some(bound) => min(total, bound),
            None => total,
        })
    }

    /// Returns the index of the first custom delay above `max_delay`.
    #[doc(hidden)]
    pub const fn custom_delay_above_max(&self) -> Option<usize> {
        if let (Backoff::Custom(delays), Bound::Limited(max)) = (self.backoff, self.max_delay) {
            let mut i = 0;
            while i < delays.len() {
                if less(max, delays[i]) {
                    return Some(i);
                }
                i += 1;
            }
        }
        None
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

/// Displayed on one line, as a person would say it: `5 attempts, exponential (base 2) from 1s to
/// 30s, jitter ±30 %, budget 5m`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (initial, max) = (DisplayDuration(self.initial_delay), ShownMax(self));
        match self.attempts {
            Attempts::Limited(1) => f.write_str("1 attempt")?,
            attempts => write!(f, "{attempts} attempts")?,
        }
        f.write_str(", ")?;
        if let Some(first) = self.first_delay {
            write!(f, "first wait {}, then ", DisplayDuration(first))?;
        }
        match self.backoff {
            _ if self.jitter == Jitter::Decorrelated => {
                write!(f, "decorrelated from {initial}{max}")?;
            }
            Backoff::Fixed => write!(f, "fixed {initial}")?,
            Backoff::Linear { increment } => {
                write!(f, "linear from {initial} by {}{max}", DisplayDuration(increment))?;
            }
            Backoff::Exponential { base } => {
                write!(f, "exponential (base {base}) from {initial}{max}")?;
            }
            Backoff::Fibonacci => write!(f, "fibonacci from {initial}{max}")?,
            Backoff::Custom(delays) => {
                f.write_str("custom")?;
                for delay in delays {
                    write!(f, " {},", DisplayDuration(*delay))?;
                }
                write!(f, " then {}", DisplayDuration(self.get_max_delay()))?;
            }
        }
        match self.jitter {
            Jitter::None | Jitter::Decorrelated => {}
            Jitter::Proportional(factor) => write!(f, ", jitter ±{} %", percent(factor))?,
            Jitter::Full | Jitter::Equal => write!(f, ", {} jitter", self.jitter.name())?,
            Jitter::Up(factor) => write!(f, ", jitter up to +{} %", percent(factor))?,
            Jitter::Added { least, most } => {
                let (least, most) = (DisplayDuration(least), DisplayDuration(most));
                write!(f, ", jitter of {least} to {most} more")?;
            }
        }
        let max_retry_after = match self.max_retry_after {
            Bound::Limited(Self::MAX_RETRY_AFTER) => Bound::None,
            other => other,
        };
        for (word, bound) in [
            ("budget", self.budget),
            ("deadline", self.deadline),
            ("max elapsed", self.max_elapsed),
            ("max retry after", max_retry_after),
            ("timeout", self.timeout),
        ] {
            if !bound.is_none() {
                write!(f, ", {word} {bound}")?;
            }
        }
        match (self.hedge, self.max_hedges) {
            // The delay is not known here: it follows the calls of a function.
            (Bound::None, 1) => {}
            (Bound::None, max) => write!(f, ", at most {max} hedges")?,
            (Bound::Unlimited, _) => f.write_str(", no hedges")?,
            (Bound::Limited(after), 1) => write!(f, ", a hedge after {}", DisplayDuration(after))?,
            (Bound::Limited(after), max) => {
                write!(f, ", up to {max} hedges, each after {}", DisplayDuration(after))?;
            }
        }
        Ok(())
    }
}

/// The end of a range of waits: ` to 30s`, or ` without a maximum`.
struct ShownMax<'a>(&'a Policy);

impl fmt::Display for ShownMax<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.max_delay {
            Bound::Unlimited => f.write_str(" without a maximum"),
            _ => write!(f, " to {}", DisplayDuration(self.0.get_max_delay())),
        }
    }
}

/// A share in percent, rounded to the millionth: 0.07 · 100 is 7.000000000000001.
fn percent(share: f64) -> f64 {
    let percent = share * 100.0;
    if !(0.0..=100.0).contains(&percent) {
        return percent;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 100,000,000; `f64::round` needs the standard library"
    )]
    let millionths = (percent * 1e6 + 0.5) as u32;
    f64::from(millionths) / 1e6
}
