//! [`Progress`]: the attempts of one call of a retrier, and what its driver sees of them.

use core::cell::RefCell;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::call::attempt_result::{AttemptResult, attempt_result, ended};
use crate::call::call_context::CallContext;
use crate::call::cancel::PollCancel;
use crate::call::driver::{Attempts, Driver, DriverSession, Finished};
use crate::call::hedge::race::Members;
use crate::call::hedge::running::Running;
#[cfg(feature = "tower")]
use crate::call::session::Session;
use crate::call::verdict::{Judgement, Verdict};
use crate::outcome::error::RetryError;
use crate::outcome::interrupted::{AttemptError, Interrupted};
use crate::protect::breaker::Permit;
use crate::retrier::decider::{ErrorRules, FailedAttempt};
use crate::retrier::listener::Listener;
use crate::retrier::operation::Operation;
use crate::retrier::settings::{Common, RetrierSettings};
use crate::retrier::values::{FailedValue, Values};

/// The settings and closures that judge the failures of a call.
pub(crate) struct Judge<'p, E, V> {
    pub(crate) common: &'p Common<V>,
    pub(crate) rules: &'p ErrorRules<E>,
    pub(crate) when: Option<&'p mut dyn FnMut(&E) -> bool>,
    pub(crate) on_retry: &'p mut dyn Listener<E>,
    pub(crate) cancel: Option<Pin<&'p mut dyn PollCancel>>,
}

/// The progress of a call that has a driver, apart from its attempts, which are dropped before it: it
/// has their permits.
pub(crate) struct Progress<'r, T, E> {
    /// The failure of an earlier attempt.
    kept: Option<Box<AttemptResult<T, E>>>,
    driver: Driver<'r>,
}

/// A call that has a driver, which a call that succeeds at once never has. It is dropped out of line:
/// left to itself, the compiler calls functions that find nothing to drop.
pub(crate) struct DrivenCall<'r, T, E>(ManuallyDrop<Progress<'r, T, E>>);

/// The outcome of a failed attempt: an error, or a value with its fault.
pub(crate) type FailedOutcome<T, E, F> = (Result<T, E>, Option<F>);

impl<'p, E, V> Judge<'p, E, V> {
    /// Of a call with these closures.
    #[inline]
    pub(super) fn new<W: FnMut(&E) -> bool, L: Listener<E>>(
        common: &'p Common<V>,
        rules: &'p ErrorRules<E>,
        when: &'p mut Option<W>,
        on_retry: &'p mut L,
        cancel: Option<Pin<&'p mut dyn PollCancel>>,
    ) -> Self {
        let when = when.as_mut().map(|when| when as _);
        Self { common, rules, when, on_retry, cancel }
    }
}

impl<V> Common<V> {
    /// Returns the value of the first attempt, which had this permit, if it has succeeded.
    ///
    /// # Errors
    /// The outcome of an attempt that has failed.
    #[inline]
    pub(crate) fn succeeded<T, E>(
        &self,
        outcome: Result<T, E>,
        permit: &mut Option<Permit<'_>>,
    ) -> Result<T, FailedOutcome<T, E, V::Failure>>
    where
        V: Values<T>,
    {
        let value = match outcome {
            Ok(value) => value,
            error => return Err((error, None)),
        };
        if let fault @ Some(_) = self.values.failure(&value) {
            return Err((Ok(value), fault));
        }
        self.settings.succeeded_first(permit.take());
        Ok(value)
    }
}

/// The attempts of a call: all that depends on the operation.
pub(crate) trait Slots<T, E> {
    /// As [`Attempts::begin`].
    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>);

    /// As [`Attempts::is_sent`].
    fn is_sent(&self) -> bool;

    /// As [`Members::join`].
    fn join(&mut self) -> bool;

    /// As [`Members::poll`].
    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<Result<T, E>>;

    /// As [`Attempts::clear`].
    fn clear(&mut self);

    /// The context of the attempt that has ended, and whether another one can be made.
    fn ended(&self) -> (Option<&Attempt>, bool);
}

/// The attempts of a call of an operation: the one in slot 0, and its hedges.
pub(crate) struct OperationSlots<'p, Op, Fut> {
    pub(crate) operation: &'p mut Op,
    pub(crate) first: Pin<&'p mut Option<Fut>>,
    pub(crate) hedges: &'p mut Running<Fut>,
}

impl<Op, Fut: Future> OperationSlots<'_, Op, Fut> {
    /// As [`Members::poll`].
    #[inline]
    pub(crate) fn poll_slot<T, E>(
        &mut self,
        slot: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, E>>
    where
        Op: Operation<Fut, T, E>,
    {
        let hedge = slot.checked_sub(1);
        if hedge.is_none() && self.first.is_none() {
            match ready!(self.operation.poll_begun(cx, Seal)) {
                Ok(begun) => self.first.set(Some(begun)),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let running = match hedge {
            Some(hedge) => self.hedges.at(hedge),
            None => self.first.as_mut().as_pin_mut(),
        };
        let Some(running) = running else { return Poll::Pending };
        let output = ready!(running.poll(cx));
        match hedge {
            Some(hedge) => self.hedges.remove(hedge),
            None => self.first.set(None),
        }
        Poll::Ready(self.operation.end(output))
    }
}

impl<Op: Operation<Fut, T, E>, Fut: Future, T, E> Slots<T, E> for OperationSlots<'_, Op, Fut> {
    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>) {
        let attempt = self.operation.begin(session.number(), || session.attempt(context), Seal);
        self.first.set(attempt);
    }

    fn is_sent(&self) -> bool {
        self.first.is_some()
    }

    fn join(&mut self) -> bool {
        let Some(hedge) = self.operation.hedge(Seal) else { return false };
        self.hedges.join(hedge);
        true
    }

    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        self.poll_slot(slot, cx)
    }

    fn clear(&mut self) {
        self.first.set(None);
        *self.hedges = Running::none();
    }

    fn ended(&self) -> (Option<&Attempt>, bool) {
        (self.operation.attempt(), self.operation.can_repeat())
    }
}

/// The attempts and outcomes of a call while it is polled: what depends on its value and error alone.
struct Calling<'p, 's, T, E, V: Values<T>> {
    judge: Judge<'p, E, V>,
    slots: &'s mut dyn Slots<T, E>,
    kept: &'s mut Option<Box<AttemptResult<T, E>>>,
    /// The outcome in hand.
    outcome: Option<AttemptResult<T, E>>,
    /// The fault of the outcome, if it is a value.
    fault: Option<V::Failure>,
}

impl<T, E, V: Values<T>> Members for Calling<'_, '_, T, E, V> {
    fn may_join(&mut self) -> bool {
        !self.is_cancelled(None)
    }

    fn join(&mut self) -> bool {
        self.slots.join()
    }

    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<()> {
        let outcome = attempt_result(ready!(self.slots.poll(slot, cx)));
        self.fault =
            outcome.as_ref().ok().and_then(|value| self.judge.common.values.failure(value));
        self.outcome = Some(outcome);
        Poll::Ready(())
    }

    fn judge(&mut self, with: &mut dyn FnMut(Verdict<'_>)) {
        if !self.has_succeeded() {
            self.verdict(None, &mut |verdict| with(*verdict));
        }
    }

    fn keep(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            *self.kept = Some(Box::new(outcome));
        }
    }
}

impl<T, E, V: Values<T>> Attempts for Calling<'_, '_, T, E, V> {
    fn may_cancel(&self) -> bool {
        self.judge.cancel.is_some()
    }

    fn is_cancelled(&mut self, cx: Option<&mut Context<'_>>) -> bool {
        let cancel = self.judge.cancel.as_mut();
        cancel.is_some_and(|cancel| cancel.as_mut().poll_cancel(cx, Seal))
    }

    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>) {
        self.slots.begin(session, context);
    }

    fn is_sent(&self) -> bool {
        self.slots.is_sent()
    }

    fn has_succeeded(&self) -> bool {
        matches!(self.outcome, Some(Ok(_))) && self.fault.is_none()
    }

    fn clear(&mut self) {
        self.slots.clear();
    }

    fn verdict(&mut self, known: Option<Judgement>, with: &mut dyn FnMut(&Verdict<'_>)) {
        let Judge { common, rules, when, on_retry, .. } = &mut self.judge;
        let Some(outcome) = &self.outcome else { return };
        let value = self.fault.as_ref().map(|value| value as &dyn FailedValue);
        let failed = FailedAttempt::of(outcome, value);
        let mut verdict = match known {
            Some(known) => known.on(rules.shown(&failed)),
            None => {
                let when = when.as_mut().map(|when| &mut **when as _);
                common.settings.verdict(rules, &failed, when)
            }
        };
        let (attempt, can_repeat) = self.slots.ended();
        verdict.can_repeat = can_repeat;
        let may_wait_by = rules.have_closures() || on_retry.is_some(Seal);
        let of_call = RefCell::new(&mut **on_retry);
        let wait_by =
            |attempt, due| rules.wait_by(&failed, attempt, due, &mut **of_call.borrow_mut());
        if may_wait_by {
            verdict = verdict.waiting_by(&wait_by);
        }
        if let Some(attempt) = attempt {
            verdict = verdict.ruled_by(attempt);
        }
        with(&verdict);
    }

    fn announce(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>) {
        let Some(outcome) = &self.outcome else { return };
        let Judge { rules, on_retry, .. } = &mut self.judge;
        if let Some((state, _)) = on_retry.resumed(Seal) {
            *state = session.state();
        }
        if rules.have_closures() || on_retry.is_some(Seal) {
            let event = session.event_of_attempt(context, outcome);
            rules.on_retry(&event);
            on_retry.call(&event, Seal);
        }
    }

    fn interrupt(&mut self, interrupted: Interrupted) {
        self.outcome = Some(Err(AttemptError::Interrupted(interrupted)));
    }

    fn forget(&mut self) {
        (self.outcome, *self.kept) = (None, None);
    }

    fn restore(&mut self) -> bool {
        let Some(kept) = self.kept.take() else { return false };
        self.outcome = Some(*kept);
        true
    }
}

impl<'r, T, E> DrivenCall<'r, T, E> {
    /// A call whose first attempt, which has this permit, has returned pending.
    #[cold]
    pub(crate) const fn of_first(permit: Option<Permit<'r>>) -> Self {
        Self(ManuallyDrop::new(Progress { kept: None, driver: Driver::of_first(permit) }))
    }

    /// Polls `call`, which begins now if it is `None`, or goes on after its first attempt, which had
    /// this permit, has `failed`. Without `cx`, the thread sleeps during waits.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll<V: Values<T>>(
        call: &mut Option<Self>,
        slots: &mut dyn Slots<T, E>,
        judge: Judge<'_, E, V>,
        settings: &'r RetrierSettings,
        cx: Option<&mut Context<'_>>,
        failed: Option<FailedOutcome<T, E, V::Failure>>,
        permit: Option<Permit<'r>>,
    ) -> Poll<Result<T, RetryError<E>>> {
        let Self(progress) = call.get_or_insert_with(|| {
            let driver = match judge.on_retry.resumed(Seal) {
                _ if failed.is_some() => Driver::after_first(permit),
                Some((behind, _)) => settings.driver(cx.is_some()).resumed(*behind),
                None => settings.driver(cx.is_some()),
            };
            Self(ManuallyDrop::new(Progress { kept: None, driver }))
        });
        progress.poll(slots, judge, Some(settings), cx, failed)
    }
}

impl<T, E> Drop for DrivenCall<'_, T, E> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        self.0.kept = None;
        self.0.driver.end();
    }
}

impl<'r, T, E> Progress<'r, T, E> {
    /// Polls the call, with its attempts, or after its first attempt has `failed`. Without `cx`, the
    /// thread sleeps during waits. It uses the breaker and the quota of `lent`.
    fn poll<V: Values<T>>(
        &mut self,
        slots: &mut dyn Slots<T, E>,
        judge: Judge<'_, E, V>,
        lent: Option<&'r RetrierSettings>,
        cx: Option<&mut Context<'_>>,
        failed: Option<FailedOutcome<T, E, V::Failure>>,
    ) -> Poll<Result<T, RetryError<E>>> {
        let Self { kept, driver } = self;
        let mut calling = Calling { judge, slots, kept, outcome: None, fault: None };
        if let Some((outcome, fault)) = failed {
            (calling.outcome, calling.fault) = (Some(attempt_result(outcome)), fault);
        }
        let mut around = calling.judge.common.settings.around(lent, cx.is_some());
        if let Some((_, since_first)) = calling.judge.on_retry.resumed(Seal) {
            around.context.since_first = since_first;
        }
        let finished = ready!(driver.poll(&mut calling, &mut around, cx));
        let Some(outcome) = calling.outcome else { unreachable!("a call ends with an outcome") };
        Poll::Ready(match (finished, outcome) {
            (Finished::GaveUp(how), outcome) => {
                if let Some((state, _)) = calling.judge.on_retry.resumed(Seal) {
                    (state.attempts, state.waited) = (how.attempts, how.waited);
                }
                ended(outcome, how, calling.judge.rules.source_of, Some(driver.take_history()))
            }
            (Finished::Succeeded, Ok(value)) => Ok(value),
            (Finished::Succeeded, Err(_)) => unreachable!("a success has a value"),
        })
    }

    /// Polls the call of a plain retrier, of which nothing else is stored but its waits.
    #[cfg(feature = "tower")]
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_plain<V: Values<T>>(
        waits: &mut Session,
        slots: &mut dyn Slots<T, E>,
        judge: Judge<'_, E, V>,
        cx: &mut Context<'_>,
        failed: Option<FailedOutcome<T, E, V::Failure>>,
    ) -> Poll<Result<T, RetryError<E>>> {
        let driver = Driver::of_plain(waits, failed.is_some());
        let mut progress = Self { kept: None, driver };
        let polled = progress.poll(slots, judge, None, Some(cx), failed);
        progress.driver.suspend(waits);
        polled
    }
}
