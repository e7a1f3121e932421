//! The state machine of a breaker: the calls that it admits, the effect of reports, its
//! transitions, and the order in which they are announced.

use core::fmt;
use core::mem::take;
use core::time::Duration;

use retry_rules::HalfOpen;

use super::outcomes::{Counted, Report};
use super::packed_state::{Mode, PackedState, StagePass, Tag};
use super::permit::Permit;
use super::rejected::Rejected;
use super::waiters::Woken;
use super::window::CallOutcome;
use super::{CircuitBreaker, FOR_EVER, LockedState};
use crate::base::clock;
use crate::base::full_text::full_text;
use crate::base::listeners::contain_panic;
use crate::base::random;
use crate::base::sync::{Arc, MutexGuard, Ordering};
use crate::event::Event;
use crate::event::transition::{Cause, Transition};
use crate::observe;
use crate::protect::clock_nanos;

impl CircuitBreaker {
    /// The admission to a closed breaker that counts consecutive failures; any other needs
    /// `acquire` with the state that is returned.
    #[inline(always)]
    pub(crate) fn admit_closed(&self) -> Result<Permit<'_>, PackedState> {
        self.admit_in(self.packed())
    }

    /// [`admit_closed`](Self::admit_closed) for a breaker that is in this state.
    #[inline(always)]
    pub(crate) fn admit_in(&self, packed: PackedState) -> Result<Permit<'_>, PackedState> {
        if packed.is_closed() { Ok(Permit::new(self, Tag::untimed(packed))) } else { Err(packed) }
    }

    /// Every other admission, to a call whose last attempt or refusal has left a `pass`. If all
    /// calls are admitted, it is not read.
    #[inline]
    pub(crate) fn acquire(
        &self,
        packed: PackedState,
        pass: impl FnOnce() -> StagePass,
    ) -> Result<Permit<'_>, Rejected> {
        if packed.is_watched() {
            self.note_call();
        }
        if !packed.admits_all() {
            return (self.machine.admit)(self, packed, pass());
        }
        if packed.mode() == Mode::Timed {
            return self.acquire_timed(packed);
        }
        Ok(Permit::new(self, Tag::untimed(packed)))
    }

    // Not inlined: only these calls need registers for the clock. A `Result`, to be returned as it
    // is.
    #[inline(never)]
    #[expect(clippy::unnecessary_wraps, reason = "a tail call")]
    fn acquire_timed(&self, packed: PackedState) -> Result<Permit<'_>, Rejected> {
        Ok(Permit::new(self, Tag::timed(packed, clock_nanos::now())))
    }

    /// The admission to a breaker that is not closed, or that holds calls.
    #[cold]
    pub(super) fn admit_limited(
        &self,
        packed: PackedState,
        pass: StagePass,
    ) -> Result<Permit<'_>, Rejected> {
        if packed.is_held() {
            return self.acquire_held(pass);
        }
        match packed.mode() {
            Mode::Gradual => self.join_stage(pass),
            Mode::Open => {
                let remaining = self.remaining();
                if remaining.is_zero() { self.probe(pass) } else { self.reject(remaining) }
            }
            _ => self.probe(pass),
        }
    }

    /// Like [`acquire`](Self::acquire), after the state has changed.
    pub(super) fn acquire_again(&self, pass: StagePass) -> Result<Permit<'_>, Rejected> {
        self.acquire(self.packed(), || pass)
    }

    /// Rejects a call. A breaker that only observes lets it through, and ignores its report.
    pub(super) fn reject(&self, remaining: Duration) -> Result<Permit<'_>, Rejected> {
        self.count(Counted::Rejected);
        if self.observes() {
            return Ok(Permit::new(self, Tag::IGNORED));
        }
        Err(Rejected { breaker: self.name.clone(), remaining, is_held: false })
    }

    fn count(&self, counted: Counted) {
        self.counters.add(counted);
        let kind = match counted {
            Counted::Rejected if self.observes() => "would_reject",
            counted => counted.as_str(),
        };
        observe::breaker_call(&self.name, self.observes(), kind);
    }

    #[cold]
    fn probe(&self, pass: StagePass) -> Result<Permit<'_>, Rejected> {
        let mut inner = self.lock();
        self.end_loan(&mut inner);
        let packed = self.packed();
        match packed.mode() {
            // A hold has begun since: a slot that is free is not for this call.
            _ if packed.is_held() => {
                self.announce_all(inner);
                return self.acquire_again(pass);
            }
            Mode::HalfOpen if self.has_been_half_open_for_long(&inner) => {
                self.recover(&mut inner);
                self.announce_all(inner);
                return self.acquire_again(pass);
            }
            Mode::HalfOpen => {}
            Mode::Open => {
                let remaining = self.remaining();
                if !remaining.is_zero() {
                    self.announce_all(inner);
                    return self.reject(remaining);
                }
                self.transition(&mut inner, Mode::HalfOpen, Cause::TimeUp);
            }
            // Another thread has closed it.
            _ => {
                drop(inner);
                return self.acquire_again(pass);
            }
        }
        // The clock is read under the lock, so that probes are ordered by time.
        let most = self.max_probes(&inner);
        let admitted = inner.probes.admit(clock::now(), most, self.config.get_timeout());
        // Created before the announcement: if the thread panics there, the permit is returned.
        let permit = admitted.map(|id| Permit::new(self, Tag::probe(id)));
        self.announce_all(inner);
        match permit {
            Some(permit) => Ok(permit),
            None => self.reject(Duration::ZERO),
        }
    }

    /// Admits a share of the calls; the first call after the last stage closes the breaker.
    #[cold]
    fn join_stage(&self, pass: StagePass) -> Result<Permit<'_>, Rejected> {
        let mut inner = self.lock();
        let packed = self.packed();
        if packed.mode() != Mode::Gradual || packed.is_held() {
            drop(inner);
            return self.acquire_again(pass);
        }
        // Read under the lock, so that calls are ordered by time.
        let now = clock_nanos::now();
        match inner.stages.admit(now, pass.history(packed)) {
            Some(true) => Ok(Permit::new(self, Tag::timed(packed, now))),
            Some(false) => {
                drop(inner);
                self.reject(Duration::ZERO)
            }
            None => {
                self.transition(&mut inner, Mode::closed_by(&self.config), Cause::Recovered);
                self.announce_all(inner);
                self.acquire_again(pass)
            }
        }
    }

    /// Returns whether the time has passed after which a single success is enough.
    fn has_been_half_open_for_long(&self, inner: &LockedState) -> bool {
        let limit = self.config.get_half_open_for();
        limit.is_some_and(|limit| inner.probes.have_succeeded_for(clock::now(), limit))
    }

    /// Leaves the half-open state after enough probes have succeeded.
    fn recover(&self, inner: &mut LockedState) {
        let is_gradual = self.config.get_half_open() == HalfOpen::Gradual && inner.loan.is_none();
        let to = if is_gradual { Mode::Gradual } else { Mode::closed_by(&self.config) };
        self.transition(inner, to, Cause::Recovered);
    }

    #[inline]
    pub(super) fn succeed_closed(&self, tag: Tag) {
        if self.streak.failures() != 0 {
            self.end_streak(tag);
        }
    }

    #[cold]
    fn end_streak(&self, tag: Tag) {
        self.streak.clear(tag.generation());
    }

    /// Counts the outcome of a call.
    pub(super) fn report(&self, tag: Tag, report: Report<'_>) {
        match (tag.mode(), report) {
            (Mode::Forced | Mode::Open, _) => {}
            (Mode::HalfOpen, _) => self.report_probe(tag, report),
            (Mode::Gradual, _) => self.report_of_stage(tag, report),
            (Mode::Timed, Report::Neither) => self.measure_given_up(tag),
            (Mode::Timed, Report::Held) => self.measure_held(tag),
            (_, Report::Neither | Report::HeldElsewhere) => self.count(Counted::Forgiven),
            (_, Report::Held) => self.count(Counted::Held),
            (Mode::Closed, Report::Success) => self.succeed_closed(tag),
            (Mode::Closed, Report::Failure(error)) => self.fail_closed(tag, error),
            (Mode::Measured, Report::Success) => self.succeed_measured(tag),
            (Mode::Measured | Mode::Timed, _) => self.measure(tag, report),
        }
    }

    /// A caller that gave up on a server that hangs has seen how slow it is.
    #[cold]
    fn measure_given_up(&self, tag: Tag) {
        let took = tag.elapsed(clock_nanos::now());
        if self.is_abandoned(took) {
            self.measure(tag, Report::Failure(Some(&GivenUp(took))));
        } else if self.is_slow(took) {
            self.measure(tag, Report::Neither);
        } else {
            self.count(Counted::Forgiven);
        }
    }

    /// A server that limits its callers works. Its answer may have been slow; but a caller that has
    /// received it did not give up, so `abandoned_after` does not apply.
    #[cold]
    fn measure_held(&self, tag: Tag) {
        if self.is_slow(tag.elapsed(clock_nanos::now())) {
            self.measure(tag, Report::Held);
        } else {
            self.count(Counted::Held);
        }
    }

    /// Judges a call of a stage as when closed, and then the stage by it.
    #[cold]
    fn report_of_stage(&self, tag: Tag, report: Report<'_>) {
        let now = clock_nanos::now();
        let has_succeeded = matches!(report, Report::Success) && !self.is_slow(tag.elapsed(now));
        match report {
            Report::Neither => self.measure_given_up(tag),
            Report::Held => self.measure_held(tag),
            Report::HeldElsewhere => self.count(Counted::Forgiven),
            Report::Success | Report::Failure(_) => self.measure(tag, report),
        }
        let mut inner = self.lock();
        // Calls of earlier stages say nothing about the load of this one.
        if tag.is_of(self.packed()) && tag.began_since(inner.stages.began(), now) {
            inner.woken = inner.stages.ended(now, has_succeeded);
        }
        self.announce_all(inner);
    }

    #[cold]
    fn fail_closed(&self, tag: Tag, error: Option<&dyn fmt::Display>) {
        self.count(Counted::Failure);
        let failures = self.streak.add(tag.generation());
        if failures.is_some_and(|failures| failures >= self.config.get_failure_threshold()) {
            self.open(tag, Cause::Failures, error);
        }
    }

    /// Reports a success whose duration does not matter, as [`measure`](Self::measure) does.
    // Not inlined: `report` then saves no registers, for any function that it calls.
    #[inline(never)]
    fn succeed_measured(&self, tag: Tag) {
        let now = if self.window_is_of_time { clock_nanos::now() } else { 0 };
        let mut inner = self.lock();
        inner.successes += 1;
        if tag.is_of(self.packed()) {
            inner.streak = 0;
            inner.window.record_good(now);
        }
    }

    fn measure(&self, tag: Tag, report: Report<'_>) {
        let (failed, error) = match report {
            Report::Failure(error) => (true, error),
            _ => (false, None),
        };
        let is_timed = matches!(tag.mode(), Mode::Timed | Mode::Gradual);
        // Read before taking the lock, to hold it for a shorter time.
        let now = if is_timed || self.window_is_of_time { clock_nanos::now() } else { 0 };
        let slow = is_timed && self.is_slow(tag.elapsed(now));
        if failed || slow {
            self.count(if failed { Counted::Failure } else { Counted::Slow });
        }

        let mut inner = self.lock();
        if !failed && !slow {
            inner.successes += 1;
        }
        if !tag.is_of(self.packed()) {
            return;
        }
        let LockedState { streak, window, .. } = &mut *inner;
        match report {
            Report::Failure(_) => *streak = streak.saturating_add(1),
            Report::Success => *streak = 0,
            Report::Neither | Report::Held | Report::HeldElsewhere => {}
        }
        let by_rate = window.record(&self.config, now, CallOutcome { failed, slow });
        let cause =
            if failed && self.reaches_threshold(*streak) { Some(Cause::Failures) } else { by_rate };
        drop(inner);
        if let Some(cause) = cause {
            self.open(tag, cause, error);
        }
    }

    /// Returns whether this many consecutive failures open a breaker that also goes by rates.
    fn reaches_threshold(&self, streak: u32) -> bool {
        self.config.is_by_streak() && streak >= self.config.get_failure_threshold()
    }

    fn is_slow(&self, took: Duration) -> bool {
        self.config.get_slow_calls().is_some_and(|slow| took > slow.longer_than())
    }

    fn is_abandoned(&self, took: Duration) -> bool {
        self.config.get_abandoned_after().is_some_and(|after| took >= after)
    }

    /// Opens the breaker if its state has not changed since the call was admitted.
    #[cold]
    fn open(&self, tag: Tag, cause: Cause, error: Option<&dyn fmt::Display>) {
        // Before taking the lock, because formatting an error runs its author's code.
        let error = error.and_then(text_of);
        let mut inner = self.lock();
        if tag.is_of(self.packed()) {
            self.transition_by(&mut inner, Mode::Open, cause, error);
        }
        self.announce_all(inner);
    }

    #[cold]
    fn report_probe(&self, tag: Tag, report: Report<'_>) {
        let error = match report {
            Report::Failure(error) => error.and_then(text_of),
            _ => None,
        };
        let mut inner = self.lock();
        let admitted_at = match self.packed().mode() {
            Mode::HalfOpen => inner.probes.release(tag.probe_id()),
            _ => None,
        };
        if admitted_at.is_some() {
            inner.woken = Woken::One;
        }
        // Without a limit on the time, the clock is not read.
        let is_timed = Mode::closed_by(&self.config) == Mode::Timed;
        let took =
            admitted_at.filter(|_| is_timed).map(|at| clock::now().saturating_duration_since(at));
        let slow = took.is_some_and(|took| self.is_slow(took));
        let (report, error) = match (report, took) {
            (Report::Neither, Some(took)) if self.is_abandoned(took) => {
                (Report::Failure(None), text_of(&GivenUp(took)))
            }
            (report, _) => (report, error),
        };
        let counted = match report {
            Report::Failure(_) => Some(Counted::Failure),
            Report::Held => Some(Counted::Held),
            Report::HeldElsewhere => Some(Counted::Forgiven),
            Report::Neither if !slow => Some(Counted::Forgiven),
            Report::Success | Report::Neither if slow => Some(Counted::Slow),
            Report::Success | Report::Neither => {
                inner.successes += 1;
                None
            }
        };
        match report {
            // From an earlier half-open period.
            _ if admitted_at.is_none() => {}
            Report::Failure(_) => {
                self.transition_by(&mut inner, Mode::Open, Cause::ProbeFailed, error);
            }
            Report::Success | Report::Neither if slow => {
                self.transition(&mut inner, Mode::Open, Cause::ProbeSlow);
            }
            // The slot is free again, and nothing else changes.
            Report::Neither | Report::Held | Report::HeldElsewhere => {}
            Report::Success => {
                let successes = inner.probes.succeed();
                if successes >= self.config.get_success_threshold()
                    || self.has_been_half_open_for_long(&inner)
                {
                    self.recover(&mut inner);
                }
            }
        }
        self.announce_all(inner);
        if let Some(counted) = counted {
            self.count(counted);
        }
    }

    /// Makes a change that was requested from outside.
    #[cold]
    pub(super) fn change(&self, to: Mode, cause: Cause) {
        let mut inner = self.lock();
        self.transition(&mut inner, to, cause);
        self.announce_all(inner);
    }

    pub(super) fn transition(&self, inner: &mut LockedState, to: Mode, cause: Cause) {
        self.transition_by(inner, to, cause, None);
    }

    /// Like [`transition`](Self::transition), with the failure that caused it.
    fn transition_by(
        &self,
        inner: &mut LockedState,
        to: Mode,
        cause: Cause,
        error: Option<Arc<str>>,
    ) {
        let from = self.packed();
        let next = match cause {
            Cause::Reset | Cause::Forced => from.next(to).released(),
            _ => from.next(to),
        };
        inner.forced = cause == Cause::Forced;
        inner.by_fleet = cause == Cause::Fleet;
        inner.loan = None;
        inner.probes.restart();
        if from.mode().is_measured() {
            inner.last_closed = inner.window.tally(clock_nanos::now());
        }
        inner.reopenings = match to {
            Mode::Open if matches!(from.mode(), Mode::HalfOpen | Mode::Gradual) => {
                inner.reopenings.saturating_add(1)
            }
            Mode::Open | Mode::HalfOpen | Mode::Gradual => inner.reopenings,
            _ => 0,
        };
        match to {
            Mode::Open => {
                if cause == Cause::Restored {
                    inner.reopenings = 0;
                }
                let until = if inner.forced {
                    FOR_EVER
                } else {
                    let (shortest, longest) = self.config.open_time(inner.reopenings);
                    let span = random::between(shortest, longest);
                    clock_nanos::now().saturating_add(clock::nanos_of(span))
                };
                self.open_until.store(until, Ordering::Relaxed);
                inner.opened_by.clone_from(&error);
            }
            Mode::Closed => {
                self.streak.restart(next.generation());
                inner.streak = 0;
            }
            Mode::Measured | Mode::Timed | Mode::Gradual => {
                inner.window.clear();
                inner.streak = 0;
                if to == Mode::Gradual {
                    let (min_time, overdue) =
                        (self.config.get_stage_time(), self.config.get_timeout());
                    inner.stages.begin(clock_nanos::now(), min_time, overdue);
                }
            }
            Mode::HalfOpen | Mode::Forced => {}
        }
        if cause == Cause::Reset {
            inner.opened_by = None;
        }
        self.packed.store(next.0, Ordering::Release);
        inner.woken = Woken::All;

        let (from, to) = (from.mode().state(), to.state());
        if from != to {
            let breaker = self.name.clone();
            let observe_only = self.observes();
            let transition = Transition { breaker, from, to, cause, error, observe_only };
            inner.unannounced.push_back(transition);
        }
    }

    /// Wakes the waiting calls, and announces the pending transitions, each with the lock released.
    pub(super) fn announce_all<'a>(&'a self, mut inner: MutexGuard<'a, LockedState>) {
        let woken = take(&mut inner.woken);
        if woken != Woken::None {
            drop(inner);
            self.waiters.wake(woken);
            inner = self.lock();
        }
        if inner.announcing {
            return;
        }
        while let Some(transition) = inner.unannounced.pop_front() {
            inner.announcing = true;
            drop(inner);
            contain_panic(|| self.announce(&transition));
            inner = self.lock();
        }
        inner.announcing = false;
    }

    fn announce(&self, transition: &Transition) {
        observe::emit(&Event::Breaker(transition));
        self.listeners.notify(|listener| listener(transition));
    }
}

/// The text of an error; `None` if formatting it panics.
fn text_of(error: &dyn fmt::Display) -> Option<Arc<str>> {
    let mut text = None;
    contain_panic(|| text = Some(full_text(error).into()));
    text
}

/// The failure of a call that its caller gave up.
struct GivenUp(Duration);

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "given up by its caller after {:?}", self.0)
    }
}
