//! [`Verdict`]: a failure, as the caller's matchers judge it.

use core::fmt;
use core::ops::ControlFlow;
use core::time::Duration;

use retry_rules::Policy;

use crate::call::attempt::{Attempt, Ruling};
use crate::classify::probe::{ErrorDisplay, ErrorView};
use crate::classify::{Class, Hint};
use crate::outcome::interrupted::Interrupted;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::Permit;

/// A failure, as the caller's matchers judge it.
#[derive(Clone, Copy)]
pub struct Verdict<'a> {
    pub(crate) judgement: Judgement,
    /// The text of the error, for events.
    pub error: ErrorDisplay<'a>,
    /// Sets the wait that follows.
    wait_by: Option<WaitBy<'a>>,
    /// Set unless the request or the state that an attempt needs is gone.
    pub(crate) can_repeat: bool,
    /// The failures of hedges that ended before, if the call keeps its failures.
    pub(crate) past: &'a [PastFailure],
}

/// The part of a [`Verdict`] that borrows nothing, to be kept across an await.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(crate) struct Judgement {
    /// Set if `retry_on` and `abort_on` allow a retry.
    pub(crate) retry: bool,
    /// Set if a breaker counts it as a failure; otherwise it counts as a success.
    pub(crate) failure: bool,
    /// The wait that the server asked for, or that it asked not to be called again, unless the
    /// attempt itself ruled on the wait.
    pub(crate) hint: Option<Hint>,
    /// The source of `hint`.
    pub(crate) hint_source: HintSource,
    /// The longest wait that the servers of the other members of a race asked for.
    pub(crate) hint_of_others: Option<Hint>,
    /// The class of the failure, if a quota needs it to determine the cost of the retry, or a
    /// breaker to let a conflict pass.
    pub(crate) class: Class,
    /// The wait that the attempt itself ruled.
    pub(crate) ruled: Option<Duration>,
    /// The wait that the server asked for, if the ruling of the attempt has replaced it.
    pub(crate) overruled: Option<Duration>,
    /// Set if the attempt itself has reset attempts, budget and curve.
    pub(crate) was_reset: bool,
    /// The classes of failures that use up no attempt.
    pub(crate) uncounted: Class,
    /// Set if nothing but the caller may end a call whose failures use up no attempt.
    pub(crate) may_never_end: bool,
    /// Set if another member of a race has failed with a failure that uses up an attempt.
    pub(crate) others_count: bool,
}

/// The source of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HintSource {
    /// The error: its server asks for the wait.
    Error,
    /// `retry_after = f`, which reads the error.
    Closure,
    /// The program itself, so that the wait concerns this call only.
    Program,
    /// A breaker further inside, which holds calls and has rejected this one.
    InnerBreaker,
}

impl HintSource {
    /// Returns the source of the wait of `error`, which a closure may have read.
    pub(crate) fn of(error: ErrorView<'_>, is_read: bool) -> Self {
        if error.is_held() {
            Self::InnerBreaker
        } else if is_read {
            Self::Closure
        } else {
            Self::Error
        }
    }
}

/// The longer one of two waits. Few failures have the `rare` one; the others need no comparison.
#[inline]
pub(crate) fn longer<T: Ord>(wait: Option<T>, rare: Option<T>) -> Option<T> {
    if rare.is_some() { wait.max(rare) } else { wait }
}

/// The wait that the program sets after a failure, or the end of the call; `None` if it sets none.
pub(crate) type OwnWait = Option<ControlFlow<(), Duration>>;

/// Sets the wait after the failure of an attempt with this number, in place of the one that is due.
#[derive(Clone, Copy)]
struct WaitBy<'a>(&'a dyn Fn(u32, Duration) -> OwnWait);

impl fmt::Debug for WaitBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WaitBy")
    }
}

impl Judgement {
    /// The judgement on a value that is retried: the breaker counts a success.
    pub(crate) const VALUE: Self = Self {
        retry: true,
        failure: false,
        hint: None,
        hint_source: HintSource::Error,
        hint_of_others: None,
        class: Class::empty(),
        ruled: None,
        overruled: None,
        was_reset: false,
        uncounted: Class::empty(),
        may_never_end: false,
        others_count: false,
    };

    /// Returns the verdict on a failure that events show as `error`.
    #[must_use]
    pub(crate) const fn on(self, error: ErrorDisplay<'_>) -> Verdict<'_> {
        Verdict { judgement: self, error, wait_by: None, can_repeat: true, past: &[] }
    }

    /// Extends the waits to the longest ones, `other` included.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.hint_of_others = Hint::of_both(self.hint_of_others, other.longest_hint());
        self.ruled = self.ruled.max(other.ruled);
        self.overruled = self.overruled.max(other.overruled);
        self.others_count |= other.others_count;
    }

    /// Returns whether the failure uses up no attempt, if something other than the attempts ends the
    /// call: it is of one of the classes (a timeout if that has ended the attempt).
    pub(crate) fn is_uncounted(&self, is_timeout: bool) -> bool {
        let class = if is_timeout { Class::TIMEOUT } else { self.class };
        !self.others_count && class.intersects(self.uncounted)
    }

    /// Returns whether matchers and server allow a retry.
    pub(crate) fn allows_retry(&self) -> bool {
        self.retry && self.longest_hint() != Some(Hint::Never)
    }

    /// Returns the longest wait that any server asked for, unless an attempt itself ruled on the
    /// wait.
    fn longest_hint(&self) -> Option<Hint> {
        Hint::of_both(self.hint, self.hint_of_others)
    }

    /// Returns the wait that the servers asked for, unless the attempt itself ruled on it.
    pub(crate) fn hinted_wait(&self) -> Option<Duration> {
        self.longest_hint().and_then(Hint::wait)
    }

    /// Returns the shortest wait for which a text may ask: the first of the curve, so that texts do
    /// not use up all attempts at once.
    pub(crate) fn least_wait(&self, policy: &Policy) -> Duration {
        let Some(Hint::InText(_)) = self.longest_hint() else { return Duration::ZERO };
        let (initial, max) = (policy.get_initial_delay(), policy.get_max_delay());
        policy.get_backoff().wait(1, initial, max).max(policy.wait(1))
    }

    /// Returns the wait that the server asked for with this failure, if it is above zero.
    pub(crate) fn asked(&self) -> Option<Duration> {
        longer(self.hinted_wait(), self.overruled).filter(|wait| !wait.is_zero())
    }

    /// The wait for which a breaker holds all calls: a server that limits its callers, or fails,
    /// has asked for it. The failures of the other members of a race are reported on their own.
    pub(crate) fn held_wait(&self) -> Option<Duration> {
        let is_asked = match self.hint_source {
            HintSource::Error => self.class.intersects(Class::ASKING),
            HintSource::Closure => self.class.is_empty() || self.class.intersects(Class::ASKING),
            HintSource::Program | HintSource::InnerBreaker => false,
        };
        self.hint.and_then(Hint::wait).filter(|wait| is_asked && !wait.is_zero())
    }

    /// Returns whether a failure for whose wait calls are held is neither a failure nor a success.
    pub(crate) fn is_rate_limit(&self) -> bool {
        self.class.contains(Class::RATE_LIMIT) || self.class.is_empty()
    }
}

impl Verdict<'static> {
    /// The verdict on a value that is retried.
    pub const VALUE: Self = Judgement::VALUE.on(ErrorDisplay::Value(&Interrupted::Value));
}

impl<'a> Verdict<'a> {
    retry_rules::accessors! {
        /// Sets whether a breaker counts a failure.
        #[must_use]
        #[inline]
        pub const fn counted(self, failure: bool) -> Self { judgement.failure: failure }
    }

    /// Sets the classes of failures that use up no attempt; `may_never_end` if something outside of
    /// the policy may end the call.
    #[must_use]
    pub const fn uncounted(mut self, uncounted: Class, may_never_end: bool) -> Self {
        self.judgement.uncounted = uncounted;
        self.judgement.may_never_end = may_never_end;
        self
    }

    /// This verdict on `error`, whose wait a closure may have read.
    #[must_use]
    pub fn hinted_by(mut self, error: ErrorView<'_>, is_read: bool) -> Self {
        self.judgement.hint_source = HintSource::of(error, is_read);
        self
    }

    /// This verdict, with the wait that follows determined by `wait_by`.
    #[must_use]
    #[inline]
    pub fn waiting_by(mut self, wait_by: &'a dyn Fn(u32, Duration) -> OwnWait) -> Self {
        self.wait_by = Some(WaitBy(wait_by));
        self
    }

    /// Returns the wait that the program sets after attempt `attempt` in place of `due`, unless the
    /// attempt itself ruled on it.
    pub(crate) fn wait_by(&self, attempt: u32, due: Duration) -> OwnWait {
        let WaitBy(wait_by) = self.wait_by.filter(|_| self.judgement.ruled.is_none())?;
        wait_by(attempt, due)
    }

    /// Reports the failure to the breaker that admitted the attempt.
    pub(crate) fn report(&self, permit: Permit<'_>) {
        let judgement = &self.judgement;
        if judgement.hint_source == HintSource::InnerBreaker {
            return permit.held_elsewhere();
        }
        if let Some(wait) = judgement.held_wait().filter(|_| permit.may_hold()) {
            // A proxy that asks for a wait because its server is down has to open the breaker.
            if judgement.is_rate_limit() {
                return permit.rate_limited(wait);
            }
            // Held before the report, which may free the slot of a probe and wake a caller.
            permit.hold(wait);
        }
        // A conflict is no failure of the server: one that lets one transaction lose works.
        if judgement.failure && !judgement.class.contains(Class::CONFLICT) {
            permit.failure_with(&self.error);
        } else {
            permit.success();
        }
    }

    /// This verdict, unless the attempt itself ruled on its failure. A ruling does not affect how a
    /// breaker counts the failure.
    #[must_use]
    pub fn ruled_by(mut self, attempt: &Attempt) -> Self {
        let judgement = &mut self.judgement;
        judgement.was_reset = attempt.was_reset();
        match attempt.ruling() {
            Some(Ruling::GiveUp) => judgement.retry = false,
            Some(Ruling::RetryAfter(wait)) => {
                (judgement.retry, judgement.ruled) = (true, Some(wait));
                judgement.overruled = judgement.overruled.max(judgement.hinted_wait());
                (judgement.hint, judgement.hint_of_others) = (None, None);
            }
            None => {}
        }
        self
    }
}
