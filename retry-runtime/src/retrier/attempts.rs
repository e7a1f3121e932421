//! [`CallState`]: the attempts of one call of a retrier, and what its driver sees of them.

use core::cell::RefCell;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::call::attempt_result::{AttemptResult, attempt_failure, attempt_result, ended};
use crate::call::call_context::CallContext;
use crate::call::driver::{Attempts, Driver, DriverSession, Finished};
use crate::call::hedge::race::Members;
use crate::call::session::Session;
use crate::call::verdict::{Judgement, Verdict};
use crate::outcome::error::RetryError;
use crate::outcome::interrupted::{AttemptError, Interrupted};
use crate::protect::breaker::Permit;
use crate::retrier::decider::{ErrorRules, FailedAttempt};
use crate::retrier::listener::Listener;
use crate::retrier::operation::Operation;
use crate::retrier::settings::{Common, NeedsDriver, RetrierSettings};
use crate::retrier::values::{FailedValue, Values};

/// The parts of a call, apart from its progress.
pub(crate) struct CallParts<'p, Op, E, V, W, L> {
    pub(crate) common: &'p Common<V>,
    pub(crate) rules: &'p ErrorRules<E>,
    pub(crate) operation: Op,
    pub(crate) when: Option<W>,
    pub(crate) on_retry: L,
}

pin_project_lite::pin_project! {
    /// The progress of a call.
    ///
    /// One enum, and one place for all attempts: a success writes little more than its tag, which
    /// is a byte of the rest, and the compiler knows from it what there is to drop.
    #[project = CallStateProjection]
    #[repr(u8)]
    pub(crate) enum CallState<'r, T, E, Fut> {
        Unbegun,
        Begun {
            #[pin]
            attempt: Option<Fut>,
            // Nothing while the first attempt runs, unless that has limits, hedges or a permit.
            rest: Option<DrivenCall<'r, T, E, Fut>>,
        },
        /// The first attempt has succeeded.
        Succeeded,
    }
}

/// The state that a call that succeeds at once never has. It is dropped out of line: left to itself,
/// the compiler calls functions that find nothing to drop.
pub(crate) struct DrivenCall<'r, T, E, Fut>(ManuallyDrop<Progress<'r, T, E, Fut>>);

/// The progress of a call that has a driver, apart from its attempt in slot 0.
pub(crate) struct Progress<'r, T, E, Fut> {
    // In this order: the attempts are dropped before their permits.
    extra: Option<Box<Extra<T, E, Fut>>>,
    driver: Driver<'r>,
}

/// The state that few calls have.
#[expect(clippy::box_collection, reason = "few of them have hedges, and the rest is smaller")]
struct Extra<T, E, Fut> {
    /// The hedges of the attempt.
    hedges: Option<Box<Vec<Pin<Box<Fut>>>>>,
    /// The failure of an earlier attempt.
    kept: Option<AttemptResult<T, E>>,
}

impl<T, E, Fut> Extra<T, E, Fut> {
    #[cold]
    fn boxed() -> Box<Self> {
        Box::new(Self { hedges: None, kept: None })
    }
}

impl<T, E, Fut> Drop for DrivenCall<'_, T, E, Fut> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let Progress { extra, driver } = &mut *self.0;
        // In this order: the attempts before their permits.
        drop(extra.take());
        driver.end();
    }
}

/// The outcome of a failed attempt: an error, or a value with its fault.
pub(crate) type FailedOutcome<T, E, F> = (Result<T, E>, Option<F>);

impl<V> Common<V> {
    /// Returns the value of an attempt that has succeeded.
    ///
    /// # Errors
    /// The outcome of an attempt that has failed.
    #[inline(always)]
    pub(crate) fn value<T, E>(
        &self,
        outcome: Result<T, E>,
    ) -> Result<T, FailedOutcome<T, E, V::Failure>>
    where
        V: Values<T>,
    {
        match outcome {
            Ok(value) => match self.values.failure(&value) {
                None => Ok(value),
                fault => Err((Ok(value), fault)),
            },
            error => Err((error, None)),
        }
    }
}

/// The attempts of a call: all that depends on the operation.
trait Slots<T, E> {
    /// As [`Attempts::begin`].
    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>);

    /// As [`Members::join`].
    fn join(&mut self) -> bool;

    /// As [`Members::poll`].
    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<Result<T, E>>;

    /// As [`Attempts::clear`].
    fn clear(&mut self);

    /// Keeps a failure in place of an earlier one.
    fn keep(&mut self, outcome: AttemptResult<T, E>);

    /// Takes the failure that was kept.
    fn take_kept(&mut self) -> Option<AttemptResult<T, E>>;

    /// The context of the attempt that has ended, and whether another one can be made.
    fn ended(&self) -> (Option<&Attempt>, bool);
}

struct OperationSlots<'p, Op, T, E, Fut> {
    operation: &'p mut Op,
    first: Pin<&'p mut Option<Fut>>,
    extra: &'p mut Option<Box<Extra<T, E, Fut>>>,
}

impl<Op: Operation<Fut, T, E>, Fut: Future, T, E> Slots<T, E>
    for OperationSlots<'_, Op, T, E, Fut>
{
    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>) {
        let attempt = self.operation.begin(session.number(), || session.attempt(context), Seal);
        self.first.set(attempt);
    }

    fn join(&mut self) -> bool {
        let Some(hedge) = self.operation.hedge(Seal) else { return false };
        let extra = self.extra.get_or_insert_with(Extra::boxed);
        extra.hedges.get_or_insert_default().push(Box::pin(hedge));
        true
    }

    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        let hedges = self.extra.as_mut().and_then(|extra| extra.hedges.as_mut());
        let output = if let Some((hedge, hedges)) = slot.checked_sub(1).zip(hedges) {
            let output = ready!(hedges[hedge].as_mut().poll(cx));
            drop(hedges.remove(hedge));
            output
        } else {
            if self.first.is_none() {
                match ready!(self.operation.poll_begun(cx, Seal)) {
                    Ok(attempt) => self.first.set(Some(attempt)),
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            let Some(first) = self.first.as_mut().as_pin_mut() else { return Poll::Pending };
            let output = ready!(first.poll(cx));
            self.first.set(None);
            output
        };
        Poll::Ready(self.operation.end(output))
    }

    fn clear(&mut self) {
        self.first.set(None);
        if let Some(extra) = self.extra {
            extra.hedges = None;
        }
    }

    fn keep(&mut self, outcome: AttemptResult<T, E>) {
        self.extra.get_or_insert_with(Extra::boxed).kept = Some(outcome);
    }

    fn take_kept(&mut self) -> Option<AttemptResult<T, E>> {
        self.extra.as_mut()?.kept.take()
    }

    fn ended(&self) -> (Option<&Attempt>, bool) {
        (self.operation.attempt(), self.operation.can_repeat())
    }
}

/// The attempts and outcomes of a call while it is polled: what depends on its value and error alone.
struct Calling<'p, T, E, V: Values<T>> {
    common: &'p Common<V>,
    rules: &'p ErrorRules<E>,
    slots: &'p mut dyn Slots<T, E>,
    when: Option<&'p mut dyn FnMut(&E) -> bool>,
    on_retry: &'p mut dyn Listener<E>,
    /// The outcome in hand.
    outcome: Option<AttemptResult<T, E>>,
    /// The fault of the outcome, if it is a value.
    fault: Option<V::Failure>,
}

impl<T, E, V: Values<T>> Members for Calling<'_, T, E, V> {
    fn join(&mut self) -> bool {
        self.slots.join()
    }

    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<()> {
        let outcome = attempt_result(ready!(self.slots.poll(slot, cx)));
        self.fault = outcome.as_ref().ok().and_then(|value| self.common.values.failure(value));
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
            self.slots.keep(outcome);
        }
    }
}

impl<T, E, V: Values<T>> Attempts for Calling<'_, T, E, V> {
    fn begin(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>) {
        self.slots.begin(session, context);
    }

    fn has_succeeded(&self) -> bool {
        matches!(self.outcome, Some(Ok(_))) && self.fault.is_none()
    }

    fn clear(&mut self) {
        self.slots.clear();
    }

    fn verdict(&mut self, known: Option<Judgement>, with: &mut dyn FnMut(&Verdict<'_>)) {
        let (rules, settings) = (self.rules, &self.common.settings);
        settings.warn();
        let Some(outcome) = &self.outcome else { return };
        let value = self.fault.as_ref().map(|value| value as &dyn FailedValue);
        let failed = FailedAttempt::of(outcome, value);
        let mut verdict = match known {
            Some(known) => known.on(rules.shown(&failed)),
            None => {
                let when = self.when.as_mut().map(|when| &mut **when as _);
                settings.verdict(rules, &failed, when)
            }
        };
        let (attempt, can_repeat) = self.slots.ended();
        verdict.can_repeat = can_repeat;
        let may_wait_by = rules.have_closures() || self.on_retry.is_some(Seal);
        let of_call = RefCell::new(&mut *self.on_retry);
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
        if self.rules.have_closures() || self.on_retry.is_some(Seal) {
            let event = session.event(context, attempt_failure(outcome));
            self.rules.on_retry(&event);
            self.on_retry.call(&event, Seal);
        }
    }

    fn interrupt(&mut self, interrupted: Interrupted) {
        self.outcome = Some(Err(AttemptError::Interrupted(interrupted)));
    }

    fn forget(&mut self) {
        self.outcome = None;
        self.slots.take_kept();
    }

    fn restore(&mut self) -> bool {
        let Some(kept) = self.slots.take_kept() else { return false };
        self.outcome = Some(kept);
        true
    }
}

impl<T, E, V: Values<T>> Calling<'_, T, E, V> {
    /// Polls the call.
    #[cold]
    #[inline(never)]
    fn drive<'r>(
        mut self,
        driver: &mut Driver<'r>,
        lent: Option<&'r RetrierSettings>,
        cx: Option<&mut Context<'_>>,
    ) -> Poll<Result<T, RetryError<E>>> {
        let mut around = self.common.settings.around(lent, cx.is_some());
        let finished = ready!(driver.poll(&mut self, &mut around, cx));
        let Some(outcome) = self.outcome else { unreachable!("a call ends with an outcome") };
        Poll::Ready(match (finished, outcome) {
            (Finished::GaveUp(how), outcome) => {
                let result = ended(outcome, how, self.rules.source_of, None);
                result.map_err(|error| error.with_history(driver.take_history()))
            }
            (Finished::Succeeded, Ok(value)) => Ok(value),
            (Finished::Succeeded, Err(_)) => unreachable!("a success has a value"),
        })
    }
}

impl<'r, T, E, Fut: Future> CallState<'r, T, E, Fut> {
    /// Polls the call, which uses the breaker and the quota of `lent`.
    #[inline(always)]
    pub(crate) fn poll<Op, V, W, L>(
        mut self: Pin<&mut Self>,
        parts: &mut CallParts<'r, Op, E, V, W, L>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        Op: Operation<Fut, T, E>,
        V: Values<T>,
        W: FnMut(&E) -> bool,
        L: Listener<E>,
    {
        let CallParts { common, operation, .. } = parts;
        let settings = &common.settings;
        // If the operation panics, it is dropped during the panic, which counts as a failure.
        let mut permit = None;
        let first = 'first: {
            if matches!(*self, Self::Unbegun) {
                if !settings.is_plain {
                    match settings.admit_first() {
                        Ok(own) => permit = own,
                        Err(NeedsDriver) => break 'first None,
                    }
                }
                let context = || Session::<()>::new().attempt(&settings.around(None, true).context);
                let attempt = operation.begin(1, context, Seal);
                self.set(Self::Begun { attempt, rest: None });
            }
            let CallStateProjection::Begun { attempt, rest } = self.as_mut().project() else {
                break 'first None;
            };
            let Some(attempt) = attempt.as_pin_mut().filter(|_| rest.is_none()) else {
                break 'first None;
            };
            let Poll::Ready(output) = attempt.poll(cx) else {
                if permit.is_some() {
                    *rest = Some(DrivenCall::new(Driver::of_first(permit)));
                }
                return Poll::Pending;
            };
            match common.value(operation.end(output)) {
                Ok(value) => {
                    self.set(Self::Succeeded);
                    settings.succeeded_first(permit);
                    return Poll::Ready(Ok(value));
                }
                Err(failed) => Some((failed, permit)),
            }
        };
        self.drive(parts, cx, first)
    }

    /// Polls the call wherever it stands, or after its first attempt, which had this permit, has
    /// failed.
    #[cold]
    #[inline(never)]
    #[expect(clippy::type_complexity, reason = "a failure and a permit")]
    fn drive<Op, V, W, L>(
        mut self: Pin<&mut Self>,
        parts: &mut CallParts<'r, Op, E, V, W, L>,
        cx: &mut Context<'_>,
        first: Option<(FailedOutcome<T, E, V::Failure>, Option<Permit<'r>>)>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        Op: Operation<Fut, T, E>,
        V: Values<T>,
        W: FnMut(&E) -> bool,
        L: Listener<E>,
    {
        let settings = &parts.common.settings;
        let mut failed = None;
        if matches!(*self, Self::Unbegun) {
            let rest = Some(DrivenCall::new(settings.driver()));
            self.set(Self::Begun { attempt: None, rest });
        }
        let CallStateProjection::Begun { attempt, rest } = self.project() else {
            panic!("a call is polled after it has ended")
        };
        if let Some((first, permit)) = first {
            failed = Some(first);
            *rest = Some(DrivenCall::new(Driver::after_first(permit)));
        }
        let Some(DrivenCall(progress)) = rest else { unreachable!("the first attempt has ended") };
        progress.poll(attempt, parts, Some(settings), Some(cx), failed)
    }
}

impl<'r, T, E, Fut> Progress<'r, T, E, Fut> {
    pub(crate) const fn of(driver: Driver<'r>) -> Self {
        Self { extra: None, driver }
    }
}

impl<'r, T, E, Fut> DrivenCall<'r, T, E, Fut> {
    const fn new(driver: Driver<'r>) -> Self {
        Self(ManuallyDrop::new(Progress::of(driver)))
    }
}

impl<'r, T, E, Fut: Future> Progress<'r, T, E, Fut> {
    /// Polls the call, with its attempt in slot 0, or after its first attempt has `failed`. Without
    /// `cx`, the thread sleeps during waits. It uses the breaker and the quota of `lent`.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll<Op, V, W, L>(
        &mut self,
        first: Pin<&mut Option<Fut>>,
        parts: &mut CallParts<'_, Op, E, V, W, L>,
        lent: Option<&'r RetrierSettings>,
        cx: Option<&mut Context<'_>>,
        failed: Option<FailedOutcome<T, E, V::Failure>>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        Op: Operation<Fut, T, E>,
        V: Values<T>,
        W: FnMut(&E) -> bool,
        L: Listener<E>,
    {
        let CallParts { common, rules, operation, when, on_retry } = parts;
        let (outcome, fault) = match failed {
            Some((outcome, fault)) => (Some(attempt_result(outcome)), fault),
            None => (None, None),
        };
        let Self { extra, driver } = self;
        let slots = &mut OperationSlots { operation, first, extra };
        let when = when.as_mut().map(|when| when as _);
        let calling = Calling { common, rules, slots, when, on_retry, outcome, fault };
        calling.drive(driver, lent, cx)
    }

    /// Polls the call of a plain retrier, of which nothing else is stored but its waits.
    #[cfg(feature = "tower")]
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_plain<Op, V, W, L>(
        waits: &mut Session,
        first: Pin<&mut Option<Fut>>,
        parts: &mut CallParts<'_, Op, E, V, W, L>,
        cx: &mut Context<'_>,
        failed: Option<FailedOutcome<T, E, V::Failure>>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        Op: Operation<Fut, T, E>,
        V: Values<T>,
        W: FnMut(&E) -> bool,
        L: Listener<E>,
    {
        let mut progress = Self::of(Driver::of_plain(waits, failed.is_some()));
        let polled = progress.poll(first, parts, None, Some(cx), failed);
        progress.driver.suspend(waits);
        polled
    }
}
