//! [`Driver`]: one call, from its first attempt to its end, whatever makes its attempts.
//!
//! It is compiled once: nothing here depends on a closure, its future, its value or its error. These
//! are behind [`Attempts`], which exists only while the call is polled.

use core::mem;
use core::task::{Context, Poll, Waker, ready};

use retry_rules::Policy;

use crate::base::clock::Instant;
#[cfg(feature = "tower")]
use crate::call::attempt_limit::Untimed;
use crate::call::attempt_limit::{CallLimits, CallTiming};
use crate::call::call_context::{CallContext, Timing};
use crate::call::call_state::CallState;
use crate::call::hedge::race::{HedgePolicy, Members, Race, RaceContext};
use crate::call::session::{Next, Session, WaitTerms};
use crate::call::verdict::{Judgement, Verdict};
use crate::event::warning::Warning;
use crate::observe;
use crate::outcome::ended::Ended;
use crate::outcome::interrupted::Interrupted;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::RetryQuota;

/// The attempts of a call, each with its hedges as the members of a race. The failure of an earlier
/// attempt may be kept.
pub(crate) trait Attempts: Members {
    /// Returns whether a future may cancel the call.
    fn may_cancel(&self) -> bool;

    /// Returns whether the call has been cancelled. Polls its future with the waker of the task, or
    /// without one.
    fn is_cancelled(&mut self, cx: Option<&mut Context<'_>>) -> bool;

    /// Begins an attempt in slot 0, the next one of this session.
    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>);

    /// Returns whether the attempt in slot 0 has been sent: its service may not be ready yet.
    fn is_sent(&self) -> bool;

    /// Returns whether the outcome in hand is a success.
    fn has_succeeded(&self) -> bool;

    /// Drops all attempts that run.
    fn clear(&mut self);

    /// Passes the verdict on the failure in hand, whose judgement may be known.
    fn verdict(&mut self, known: Option<Judgement>, with: &mut dyn FnMut(&Verdict<'_>));

    /// Passes the failure in hand, which will be retried, to the listeners of the call.
    fn announce(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>);

    /// Takes this interruption in hand.
    fn interrupt(&mut self, interrupted: Interrupted);

    /// Drops the outcome in hand, and the one that was kept.
    fn forget(&mut self);

    /// Takes the outcome in hand again that was kept; returns whether there was one.
    fn restore(&mut self) -> bool;
}

/// The surroundings of a call while it is polled.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a, 'r> {
    pub(crate) context: CallContext<'a>,
    /// The breaker that admits the attempts, for as long as the call lasts.
    pub(crate) breaker: Option<&'r CircuitBreaker>,
    /// The quota that pays for the retries.
    pub(crate) quota: Option<&'r RetryQuota>,
    /// The moment at which the attempt that begins in this poll reaches its limit.
    pub(crate) limit: Option<Instant>,
}

/// The end of a call.
pub(crate) enum Finished {
    /// With the value in hand.
    Succeeded,
    /// With the failure in hand.
    GaveUp(Ended),
}

/// The session of a driver.
pub(crate) type DriverSession<'r> = Session<(), Option<Box<Guarded<'r>>>>;

/// The time limits of a call, its hedges, and the terms of its wait. Few calls have any.
pub(crate) struct Guarded<'r> {
    /// While an attempt runs, they say already that its limit has ended it.
    limits: CallLimits,
    part: Part<'r>,
}

/// The part of a guarded call that only an attempt has, or only a wait.
enum Part<'r> {
    /// The hedges of an attempt that has returned pending.
    Hedged(Box<Race<'r>>),
    Waiting(WaitTerms<'r>),
}

impl<'r> Part<'r> {
    const NONE: Self = Self::Waiting(WaitTerms::None);

    fn race(&mut self) -> Option<&mut Race<'r>> {
        match self {
            Self::Hedged(race) => Some(race),
            Self::Waiting(_) => None,
        }
    }
}

impl Guarded<'_> {
    #[inline(never)]
    fn boxed(limits: CallLimits) -> Box<Self> {
        Box::new(Self { limits, part: Part::NONE })
    }
}

impl CallTiming for Guarded<'_> {
    fn timing(&self) -> Timing {
        self.limits.timing()
    }
}

/// The progress of a call.
pub(crate) struct Driver<'r> {
    stage: Stage,
    /// Of the attempt in slot 0.
    permit: Option<Permit<'r>>,
    session: DriverSession<'r>,
}

/// The next step of a call.
#[derive(Clone, Copy)]
enum Stage {
    Begin,
    Attempt,
    /// A limit has ended the attempt.
    TimedOut,
    /// The first attempt has failed, before there was a driver.
    Failed,
    Wait,
    Done,
}

impl<'r> Driver<'r> {
    /// A call that begins now. Only if it has limits or hedges, `needs_timer` is set.
    pub(crate) fn new(policy: &Policy, needs_timer: bool) -> Self {
        let guarded = needs_timer.then(|| Guarded::boxed(CallLimits::of(policy)));
        Self { stage: Stage::Begin, permit: None, session: Session::timed(guarded) }
    }

    /// This call, which blocks its thread: its attempts are not cut off.
    pub(crate) fn blocking(mut self) -> Self {
        if let Some(guarded) = &mut self.session.timer {
            guarded.limits.cannot_cut();
        }
        self
    }

    /// This call, which continues one with this progress.
    pub(crate) fn resumed(mut self, behind: CallState) -> Self {
        self.session = self.session.resumed(behind);
        self
    }

    /// A call without limits or hedges, whose first attempt runs.
    pub(crate) const fn of_first(permit: Option<Permit<'r>>) -> Self {
        Self { stage: Stage::Attempt, permit, session: Session::timed(None) }
    }

    /// A call without limits or hedges, whose first attempt has failed: its outcome is in hand.
    pub(crate) const fn after_first(permit: Option<Permit<'r>>) -> Self {
        Self { stage: Stage::Failed, permit, session: Session::timed(None) }
    }

    /// A call without limits, hedges or permits, with these waits. Its first attempt `has_failed`,
    /// or it goes on.
    #[cfg(feature = "tower")]
    #[inline(never)]
    pub(crate) fn of_plain(waits: &mut Session, has_failed: bool) -> Self {
        let stage = match has_failed {
            true => Stage::Failed,
            false if waits.is_waiting() => Stage::Wait,
            false => Stage::Attempt,
        };
        Self { stage, permit: None, session: mem::take(waits).with_timer(None) }
    }

    /// Stores the waits of such a call.
    #[cfg(feature = "tower")]
    #[inline(never)]
    pub(crate) fn suspend(&mut self, waits: &mut Session) {
        *waits = mem::take(&mut self.session).with_timer(Untimed);
    }

    /// Drops all that the call holds.
    pub(crate) fn end(&mut self) {
        drop(mem::take(&mut self.session));
        self.permit = None;
    }

    /// Takes the failures that a call which has ended has kept.
    pub(crate) fn take_history(&mut self) -> Vec<PastFailure> {
        self.session.take_history()
    }

    /// Polls the call. Without `cx`, the thread sleeps during waits, and attempts are ready at once.
    #[inline(never)]
    pub(crate) fn poll(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        mut cx: Option<&mut Context<'_>>,
    ) -> Poll<Finished> {
        loop {
            let finished = match self.stage {
                Stage::Begin if attempts.is_cancelled(None) => {
                    Some(self.cancelled_first(attempts, around))
                }
                Stage::Begin => self.begin(attempts, around, cx.is_some(), false),
                Stage::Attempt => {
                    let known = match &mut cx {
                        Some(cx) => ready!(self.poll_attempt(attempts, around, cx)),
                        None => self.attempt_blocking(attempts, around),
                    };
                    self.ended(attempts, around, known)
                }
                Stage::Failed => {
                    // Nothing of the attempt stays alive during the wait.
                    attempts.clear();
                    self.failed(attempts, around, None, None)
                }
                Stage::Wait if attempts.is_cancelled(cx.as_deref_mut()) => {
                    Some(self.cancelled(attempts, around))
                }
                Stage::Wait => {
                    match &mut cx {
                        Some(cx) => ready!(self.poll_wait(cx)),
                        None => self.wait_blocking(around),
                    }
                    self.begin(attempts, around, cx.is_some(), true)
                }
                Stage::TimedOut | Stage::Done => panic!("a call is polled after it has ended"),
            };
            if let Some(finished) = finished {
                self.stage = Stage::Done;
                return Poll::Ready(finished);
            }
        }
    }

    /// Begins an attempt or the wait for the breaker, or ends the call.
    #[inline(always)]
    fn begin(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        is_limited: bool,
        has_waited: bool,
    ) -> Option<Finished> {
        // Unless an attempt begins, and even if the operation panics.
        self.stage = Stage::Done;
        let mut own = None;
        if let Some(breaker) = around.breaker {
            match self.session.try_acquire(breaker, breaker.packed()) {
                Ok(admitted) => own = Some(admitted),
                Err(rejected) => return self.refused(attempts, around, rejected.into()),
            }
        }
        if has_waited && self.session.has_used_up_failure() {
            attempts.forget();
        }
        // If it panics, its permit is dropped during the panic, which counts as a failure.
        attempts.begin(&self.session, &around.context);
        self.permit = own;
        if let Some(guarded) = self.session.timer.as_mut().filter(|_| is_limited) {
            let (at, kind) = guarded.limits.next().unzip();
            guarded.limits.set_timed_out(kind);
            around.limit = at;
        }
        self.stage = Stage::Attempt;
        None
    }

    /// Polls the attempt with its hedges, and then its limit: an attempt that is ready was in time.
    /// Returns the judgement on its outcome, if that is known.
    fn poll_attempt(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Judgement>> {
        let mut guarded = self.session.timer.as_mut();
        let is_alone = guarded.as_mut().is_none_or(|guarded| guarded.part.race().is_none());
        if is_alone {
            // As in `begin`.
            let own = self.permit.take();
            let polled = attempts.poll(0, cx);
            self.permit = own;
            if polled.is_ready() {
                return Poll::Ready(None);
            }
        }
        if self.session.timer.is_none() {
            Poll::Pending
        } else {
            self.poll_guarded(attempts, around, is_alone, cx)
        }
    }

    /// Polls the hedges of an attempt, and then its limit.
    #[cold]
    #[inline(never)]
    fn poll_guarded(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        is_alone: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Judgement>> {
        let attempt = self.session.number();
        let Some(guarded) = &mut self.session.timer else { return Poll::Pending };
        let CallContext { origin, policy, may_hedge, .. } = around.context;
        // A hedge is due some time after the request was sent.
        let may_hedge = may_hedge && (!is_alone || attempts.is_sent());
        if let Some(hedge) = HedgePolicy::of(policy).filter(|_| may_hedge) {
            let keeps_failures = around.context.end_options().history > 0;
            let Around { breaker, quota, .. } = *around;
            let context =
                RaceContext { origin, attempt, breaker, quota, attempts: None, keeps_failures };
            if guarded.part.race().is_none() {
                guarded.part = Part::Hedged(Race::boxed());
            }
            let Some(race) = guarded.part.race() else { return Poll::Pending };
            if race.poll(attempts, hedge, &context, &mut self.permit, is_alone, cx).is_ready() {
                return Poll::Ready(race.outcome().and_then(Result::err));
            }
        }
        if guarded.limits.timing().timed_out.is_none() {
            return Poll::Pending;
        }
        ready!(self.session.poll_limit(around.limit, origin.site, cx));
        self.session.end_limit();
        self.stage = Stage::TimedOut;
        attempts.clear();
        let Some(guarded) = &mut self.session.timer else { return Poll::Pending };
        let mut known = None;
        let race = guarded.part.race();
        if let Some(judgement) = race.and_then(|race| race.timed_out(&mut self.permit)) {
            known = Some(judgement);
            // It replaces the failures of earlier attempts.
            attempts.restore();
            self.session.forget_last();
        } else {
            attempts.interrupt(guarded.limits.interrupted());
        }
        Poll::Ready(known)
    }

    /// Handles the outcome of an attempt, whose judgement may be known.
    fn ended(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        known: Option<Judgement>,
    ) -> Option<Finished> {
        let mut race = None;
        if let Some(guarded) = &mut self.session.timer {
            // The hedges are dropped before the outcome is reported, and then their permits.
            attempts.clear();
            if let Part::Hedged(mut ended) = mem::replace(&mut guarded.part, Part::NONE) {
                ended.end();
                race = Some(ended);
            }
            let is_limited = guarded.limits.timing().timed_out.is_some();
            if is_limited && !matches!(self.stage, Stage::TimedOut) {
                guarded.limits.set_timed_out(None);
                self.session.end_limit();
            }
        }
        // A value that a race has judged is a failure, also where a limit has ended the race.
        if known.is_some() || !attempts.has_succeeded() {
            return self.failed(attempts, around, known, race.as_deref());
        }
        if let Some(permit) = self.permit.take() {
            permit.success();
        }
        mem::take(&mut self.session).succeeded(around.context.origin, around.quota);
        Some(Finished::Succeeded)
    }

    /// Handles the failure in hand: the call ends or waits.
    #[cold]
    #[inline(never)]
    fn failed(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        known: Option<Judgement>,
        race: Option<&Race<'r>>,
    ) -> Option<Finished> {
        let context = &mut around.context;
        if let Some(guarded) = &self.session.timer {
            context.set_timing(guarded.limits.timing());
        }
        context.is_cancelled = attempts.is_cancelled(None);
        let (session, mut next) = (&mut self.session, None);
        // As in `begin`: matchers are code of the program.
        let mut own = self.permit.take();
        attempts.verdict(known, &mut |verdict| {
            let mut extended;
            let mut verdict = verdict;
            if let Some(losers) = race.and_then(Race::losers) {
                extended = *verdict;
                losers.extend(&mut extended);
                verdict = &extended;
            }
            next = Some(session.failed_in(context, own.take(), verdict));
        });
        let timing = around.context.timing;
        match next {
            Some(Next::Wait) => {
                attempts.announce(&self.session, &around.context);
                // Only these can end a call before it fails again. Otherwise, the outcome is
                // dropped before the wait: a response may hold a connection.
                let may_end_before_attempt = around.breaker.is_some() || attempts.may_cancel();
                if may_end_before_attempt || timing.is_some_and(|timing| timing.cuts_attempts()) {
                    attempts.keep();
                } else {
                    attempts.forget();
                }
                if around.quota.is_some() {
                    self.set_terms(around.quota, None);
                }
                self.stage = Stage::Wait;
                None
            }
            Some(Next::GiveUp(how)) => {
                if timing.is_some_and(|timing| timing.is_late()) {
                    attempts.restore();
                }
                Some(Finished::GaveUp(how))
            }
            None => unreachable!("a failure has a verdict"),
        }
    }

    /// Handles a rejection by the breaker: the call ends or waits.
    #[cold]
    #[inline(never)]
    fn refused(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
        rejected: Interrupted,
    ) -> Option<Finished> {
        let context = around.context.cancelled(attempts.is_cancelled(None));
        match self.session.refused(context, &rejected) {
            Next::GiveUp(how) => {
                if !attempts.restore() {
                    attempts.interrupt(rejected);
                }
                Some(Finished::GaveUp(how))
            }
            Next::Wait => {
                self.set_terms(around.quota, around.breaker);
                self.stage = Stage::Wait;
                None
            }
        }
    }

    /// Handles a cancellation before the first attempt.
    #[cold]
    #[inline(never)]
    fn cancelled_first(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &Around<'_, 'r>,
    ) -> Finished {
        attempts.interrupt(Interrupted::Cancelled);
        Finished::GaveUp(mem::take(&mut self.session).cancelled_before_attempt(around.context))
    }

    /// Handles a cancellation during the wait.
    #[cold]
    #[inline(never)]
    fn cancelled(&mut self, attempts: &mut dyn Attempts, around: &mut Around<'_, 'r>) -> Finished {
        if let Some(guarded) = &mut self.session.timer {
            // Returns what the retry took from the quota.
            guarded.part = Part::NONE;
        }
        if !attempts.restore() {
            attempts.interrupt(Interrupted::Cancelled);
        }
        Finished::GaveUp(self.session.cancelled_in_wait(&around.context))
    }

    /// Sets the terms of the wait that begins now.
    #[cold]
    fn set_terms(&mut self, quota: Option<&'r RetryQuota>, awaited: Option<&'r CircuitBreaker>) {
        let terms = WaitTerms::new(&self.session, quota, awaited);
        let guarded = || Guarded::boxed(CallLimits::NONE);
        self.session.timer.get_or_insert_with(guarded).part = Part::Waiting(terms);
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(guarded) = &mut self.session.timer else { return self.session.poll_wait(cx) };
        // The session is polled too, so the terms leave it meanwhile.
        let Part::Waiting(mut terms) = mem::replace(&mut guarded.part, Part::NONE) else {
            unreachable!("the race of an attempt ends with it")
        };
        let polled = terms.poll(&mut self.session, cx);
        if let (Poll::Pending, Some(guarded)) = (polled, &mut self.session.timer) {
            guarded.part = Part::Waiting(terms);
        }
        polled
    }

    #[cold]
    fn wait_blocking(&mut self, around: &mut Around<'_, 'r>) {
        let timer = self.session.timer.as_ref();
        let awaited =
            timer.filter(|guarded| matches!(guarded.part, Part::Waiting(WaitTerms::Awaits(_))));
        self.session.wait_blocking(around.context.origin, awaited.and(around.breaker));
        if let Some(Guarded { part: Part::Waiting(terms), .. }) = self.session.timer.as_deref_mut()
        {
            terms.end();
        }
    }

    /// Makes an attempt that is ready at once.
    #[inline(never)]
    fn attempt_blocking(
        &mut self,
        attempts: &mut dyn Attempts,
        around: &mut Around<'_, 'r>,
    ) -> Option<Judgement> {
        let own = self.permit.take();
        let polled = attempts.poll(0, &mut Context::from_waker(Waker::noop()));
        debug_assert!(polled.is_ready(), "an attempt that blocks is ready at once");
        self.permit = own;
        let CallContext { policy, origin, .. } = around.context;
        if let (false, Some(timeout)) = (attempts.has_succeeded(), policy.get_timeout()) {
            observe::warn_once(Warning::TimeoutNotObeyed { name: origin.name, timeout });
        }
        None
    }
}
