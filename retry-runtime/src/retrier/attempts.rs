//! [`CallState`]: the attempts of one call of a retrier, and what its driver sees of them.

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
use crate::retrier::settings::{Common, Failing, RetrierSettings};
use crate::retrier::values::{FailedValue, Values};

/// The parts of a call, for as long as it is polled.
pub(crate) struct Calls<'p, 'r, Op, E, V, W, L> {
    pub(crate) common: &'p Common<V>,
    /// The settings whose breaker and quota the call uses, unless there are none.
    pub(crate) lent: Option<&'r RetrierSettings>,
    pub(crate) rules: &'p ErrorRules<E>,
    pub(crate) operation: &'p mut Op,
    pub(crate) when: Option<&'p mut W>,
    pub(crate) on_retry: Option<&'p mut L>,
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
            // Nothing while the first attempt runs, unless that has limits or hedges.
            rest: Option<DrivenCall<'r, T, E, Fut>>,
            // Of the attempt.
            permit: Option<Permit<'r>>,
        },
        /// The first attempt has succeeded.
        Succeeded,
    }
}

/// The state that a call that succeeds at once never has. It is dropped out of line: left to itself,
/// the compiler calls functions that find nothing to drop.
pub(crate) struct DrivenCall<'r, T, E, Fut>(ManuallyDrop<Progress<'r, T, E, Fut>>);

struct Progress<'r, T, E, Fut> {
    hedges: Hedges<Fut>,
    kept: LastOutcome<T, E>,
    driver: Driver<'r>,
}

impl<'r, T, E, Fut> DrivenCall<'r, T, E, Fut> {
    const fn new(driver: Driver<'r>) -> Self {
        Self(ManuallyDrop::new(Progress { hedges: None, kept: None, driver }))
    }
}

impl<T, E, Fut> Drop for DrivenCall<'_, T, E, Fut> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let Progress { hedges, kept, driver } = &mut *self.0;
        // In this order: the attempts before their permits.
        drop(hedges.take());
        drop(kept.take());
        driver.end();
    }
}

type Hedges<Fut> = Option<Box<Vec<Pin<Box<Fut>>>>>;

/// The failure of an earlier attempt.
type LastOutcome<T, E> = Option<Box<AttemptResult<T, E>>>;

/// The outcome of the first attempt, if it failed; a value with its fault.
type FirstOutcome<T, E, F> = (Result<T, E>, Option<F>);

/// The attempts of a call: all that depends on the operation.
trait Slots<T, E> {
    /// As [`Attempts::begin`].
    fn begin(&mut self, attempt: &mut dyn FnMut() -> Attempt);

    /// As [`Members::join`].
    fn join(&mut self) -> bool;

    /// As [`Members::poll`].
    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<Result<T, E>>;

    /// As [`Attempts::clear`].
    fn clear(&mut self);

    /// The context of the attempt that has ended, and whether another one can be made.
    fn ended(&self) -> (Option<&Attempt>, bool);
}

struct OperationSlots<'p, Op, Fut> {
    operation: &'p mut Op,
    first: Pin<&'p mut Option<Fut>>,
    hedges: &'p mut Hedges<Fut>,
}

impl<Op: Operation<Fut, T, E>, Fut: Future, T, E> Slots<T, E> for OperationSlots<'_, Op, Fut> {
    fn begin(&mut self, attempt: &mut dyn FnMut() -> Attempt) {
        let attempt = self.operation.begin(attempt, Seal);
        self.first.set(attempt);
    }

    fn join(&mut self) -> bool {
        let Some(hedge) = self.operation.hedge(Seal) else { return false };
        self.hedges.get_or_insert_default().push(Box::pin(hedge));
        true
    }

    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        let output = if let Some((hedge, hedges)) = slot.checked_sub(1).zip(self.hedges.as_mut()) {
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
        *self.hedges = None;
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
    on_retry: Option<&'p mut dyn Listener<E>>,
    kept: &'p mut LastOutcome<T, E>,
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
            self.verdict(None, with);
        }
    }

    fn keep(&mut self) {
        *self.kept = self.outcome.take().map(Box::new);
    }
}

impl<T, E, V: Values<T>> Attempts for Calling<'_, T, E, V> {
    fn begin(&mut self, attempt: &mut dyn FnMut() -> Attempt) {
        self.slots.begin(attempt);
    }

    fn has_succeeded(&self) -> bool {
        matches!(self.outcome, Some(Ok(_))) && self.fault.is_none()
    }

    fn clear(&mut self) {
        self.slots.clear();
    }

    fn verdict(&mut self, known: Option<Judgement>, with: &mut dyn FnMut(Verdict<'_>)) {
        let Some(outcome) = &self.outcome else { return };
        let value = self.fault.as_ref().map(|value| value as &dyn FailedValue);
        let failed = FailedAttempt::of(outcome, value);
        let when = self.when.as_mut().map(|when| &mut **when as _);
        let of_call = self.on_retry.as_mut().map(|of_call| &mut **of_call as _);
        let (rules, attempt) = (self.rules, self.slots.ended().0);
        let failing = Failing { rules, failed, known, attempt, when, of_call };
        self.common.settings.judge(failing, with);
    }

    fn announce(&mut self, session: &DriverSession<'_>, context: &CallContext<'_>) {
        let Some(outcome) = &self.outcome else { return };
        let on_retry = self.on_retry.as_mut().map(|listener| &mut **listener as _);
        self.rules.announce(attempt_failure(outcome), session, context, on_retry);
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

    fn can_repeat(&self) -> bool {
        self.slots.ended().1
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
        permit: &mut Option<Permit<'r>>,
        cx: Option<&mut Context<'_>>,
    ) -> Poll<Result<T, RetryError<E>>> {
        let around = self.common.settings.around(lent, cx.is_some());
        let finished = ready!(driver.poll(&mut self, &around, permit, cx));
        let Some(outcome) = self.outcome else { unreachable!("a call ends with an outcome") };
        Poll::Ready(match (finished, outcome) {
            (Finished::GaveUp(how), outcome) => {
                let result = ended(outcome, how, self.rules.source_of);
                result.map_err(|error| error.with_history(driver.take_history()))
            }
            (Finished::Succeeded, Ok(value)) => Ok(value),
            (Finished::Succeeded, Err(_)) => unreachable!("a success has a value"),
        })
    }
}

impl<'r, T, E, Fut: Future> CallState<'r, T, E, Fut> {
    /// A call whose first attempt has begun, with this permit.
    #[inline(always)]
    pub(crate) const fn begun(attempt: Option<Fut>, permit: Option<Permit<'r>>) -> Self {
        Self::Begun { attempt, rest: None, permit }
    }

    /// Polls the call.
    #[inline(always)]
    pub(crate) fn poll<Op, V, W, L>(
        mut self: Pin<&mut Self>,
        calls: Calls<'_, 'r, Op, E, V, W, L>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        Op: Operation<Fut, T, E>,
        V: Values<T>,
        W: FnMut(&E) -> bool,
        L: Listener<E>,
    {
        let settings = &calls.common.settings;
        if matches!(*self, Self::Unbegun) {
            let Ok(permit) = settings.admit_first(calls.lent) else {
                return self.drive(calls, Some(cx), None);
            };
            let context = || Session::<()>::new().attempt(&settings.around(None, true).context);
            let attempt = calls.operation.begin(context, Seal);
            self.set(Self::begun(attempt, permit));
        }
        let (attempt, permit) = match self.as_mut().project() {
            CallStateProjection::Begun { attempt, rest: None, permit } => {
                (attempt.as_pin_mut(), permit)
            }
            _ => return self.drive(calls, Some(cx), None),
        };
        let Some(attempt) = attempt else { return self.drive(calls, Some(cx), None) };
        // If it panics, its permit is dropped during the panic, which counts as a failure.
        let own = permit.take();
        let polled = attempt.poll(cx);
        let Poll::Ready(output) = polled else {
            *permit = own;
            return Poll::Pending;
        };
        let failed = match calls.operation.end(output) {
            Ok(value) => match calls.common.values.failure(&value) {
                None => {
                    self.set(Self::Succeeded);
                    settings.succeeded_first(own, calls.lent);
                    return Poll::Ready(Ok(value));
                }
                fault => (Ok(value), fault),
            },
            error => (error, None),
        };
        *permit = own;
        self.drive(calls, Some(cx), Some(failed))
    }

    /// Polls the call wherever it stands. If the first attempt of a call without limits or hedges
    /// has failed, this is its outcome. Without `cx`, the thread sleeps during waits.
    #[cold]
    #[inline(never)]
    pub(crate) fn drive<Op, V, W, L>(
        mut self: Pin<&mut Self>,
        calls: Calls<'_, 'r, Op, E, V, W, L>,
        cx: Option<&mut Context<'_>>,
        first: Option<FirstOutcome<T, E, V::Failure>>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        Op: Operation<Fut, T, E>,
        V: Values<T>,
        W: FnMut(&E) -> bool,
        L: Listener<E>,
    {
        let Calls { common, lent, rules, operation, when, on_retry } = calls;
        if matches!(*self, Self::Unbegun) {
            let settings = &common.settings;
            let driver = Driver::new(&settings.policy, settings.needs_timer);
            let rest = Some(DrivenCall::new(driver));
            self.set(Self::Begun { attempt: None, rest, permit: None });
        }
        let CallStateProjection::Begun { attempt, rest, permit } = self.project() else {
            panic!("a call is polled after it has ended")
        };
        let after_first = || DrivenCall::new(Driver::after_first());
        let DrivenCall(progress) = rest.get_or_insert_with(after_first);
        let Progress { hedges, kept, driver } = &mut **progress;
        let (outcome, fault) =
            first.map_or((None, None), |(outcome, fault)| (Some(attempt_result(outcome)), fault));
        let calling = Calling {
            common,
            rules,
            slots: &mut OperationSlots { operation, first: attempt, hedges },
            when: when.map(|when| when as _),
            on_retry: on_retry.map(|on_retry| on_retry as _),
            kept,
            outcome,
            fault,
        };
        calling.drive(driver, lent, permit, cx)
    }
}
