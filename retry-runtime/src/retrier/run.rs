//! [`Run`]: one call of a [`Retrier`](crate::Retrier), as a future.

pub(crate) mod attempt_future;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) mod blocking;

use core::future::Future;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, take};
use core::ops::ControlFlow;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::base::sealed::Seal;
use crate::call::attempt_limit::{AttemptLimit, CallLimits, CallTiming};
use crate::call::attempt_result::{AttemptResult, attempt_result};
use crate::call::call_context::Timing;
use crate::call::hedge::Race;
use crate::call::hedge::race_member::RaceMember;
use crate::call::hedge::race_state::{HedgePolicy, RaceDriver};
use crate::call::hedge::report::HedgeReport;
use crate::call::session::{Session, succeeded_first_try};
use crate::call::verdict::Judgement;
use crate::event::retry_event::RetryEvent;
use crate::outcome::Nothing;
use crate::outcome::error::AttemptError;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::Permit;
use crate::retrier::decider::{ErrorRules, FailedAttempt};
use crate::retrier::listener::{Listener, Listeners};
use crate::retrier::operation::Operation;
use crate::retrier::settings::{Common, FailedOutcome, RunSession};
use crate::retrier::values::{FailedValue, Values};

pin_project_lite::pin_project! {
    /// A call: what [`Retrier::run`](crate::Retrier::run) and `Retrier::blocking` return.
    ///
    /// Its methods add closures for this one call. They know the error's type, and may
    /// mutate what they capture.
    ///
    /// The future is `Send` if the operation's value and error are: the last failure may
    /// be kept across a wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let mut failures = Vec::new();
    /// let error = retrier
    ///     .run(|| async { "seven".parse::<u32>() })
    ///     .when(|error| !error.to_string().is_empty())
    ///     .on_retry(|event| failures.push(event.attempt()))
    ///     .await
    ///     .unwrap_err();
    /// assert_eq!((error.attempts(), failures), (3, vec![1, 2]));
    /// # }
    /// ```
    #[must_use = "a call does nothing until it is awaited, or called if it is blocking"]
    pub struct Run<'r, Op, Fut, T, E, V, W = fn(&E) -> bool, L = ()> {
        parts: Parts<'r, Op, E, V, W, L>,
        #[pin]
        state: RunState<'r, T, E, Fut>,
    }
}

/// The parts of a call before it begins.
struct Parts<'r, Op, E, V, W, L> {
    common: &'r Common<V>,
    rules: &'r ErrorRules<E>,
    operation: Op,
    when: Option<W>,
    on_retry: Option<L>,
}

pin_project_lite::pin_project! {
    /// The progress of a call.
    ///
    /// One enum, and one place for all attempts: a success writes little more than its tag, which
    /// is a byte of the rest, and the compiler knows from it what there is to drop.
    #[project = RunStateProjection]
    #[repr(u8)]
    enum RunState<'r, T, E, Fut> {
        Unbegun,
        Begun {
            #[pin]
            attempt: Option<Fut>,
            // Nothing while the first attempt of a plain retrier runs.
            rest: Option<Rest<'r, T, E, Fut>>,
        },
        /// The first attempt of a plain retrier has succeeded.
        Succeeded,
    }
}

/// The state that a call of a plain retrier that succeeds never has. It is dropped out of line:
/// left to itself, the compiler calls three functions that find nothing to drop.
struct Rest<'r, T, E, Fut>(ManuallyDrop<Progress<'r, T, E, Fut>>);

struct Progress<'r, T, E, Fut> {
    stage: RunStage,
    call: RunSession<'r, T, E, Timer<'r, T, E, Fut>>,
    permit: Option<Permit<'r>>,
}

impl<T, E, Fut> Rest<'_, T, E, Fut> {
    const fn new(stage: RunStage) -> Self {
        let call = RunSession::timed(None);
        Self(ManuallyDrop::new(Progress { stage, call, permit: None }))
    }
}

impl<T, E, Fut> Drop for Rest<'_, T, E, Fut> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let Progress { call, permit, .. } = &mut *self.0;
        drop((take(call), permit.take()));
    }
}

/// The future that is polled next in the rest of a call.
#[derive(Clone, Copy)]
enum RunStage {
    /// Nothing: an attempt is to begin.
    Begin,
    Attempt,
    Race,
    Wait,
    Done,
}

/// A call that is more than the first attempt of a plain retrier.
struct Ongoing<'p, 'r, Op, Fut, T, E, V, W, L> {
    parts: &'p mut Parts<'r, Op, E, V, W, L>,
    attempt: Pin<&'p mut Option<Fut>>,
    progress: &'p mut Progress<'r, T, E, Fut>,
}

// Boxed, because it is larger than all the rest.
type Timer<'r, T, E, Fut> = Option<Box<RunTimer<'r, T, E, Fut>>>;

/// The time limits of a call, and the hedges of its attempts.
pub(super) struct RunTimer<'r, T, E, Fut> {
    limits: CallLimits,
    hedge: Option<HedgePolicy>,
    attempt: Option<Pin<Box<AttemptLimit<Race<'r, Fut>>>>>,
    /// The findings of the hedges of the current attempt.
    report: HedgeReport<Result<T, E>>,
}

impl<T, E, Fut> CallTiming for RunTimer<'_, T, E, Fut> {
    fn timing(&self) -> Timing {
        self.limits.timing()
    }
}

/// The part of a call that begins its hedges, and judges outcomes while others run.
struct OperationDriver<'c, Op, T, E, V: Values<T>, W> {
    operation: &'c mut Op,
    common: &'c Common<V>,
    rules: &'c ErrorRules<E>,
    when: &'c mut Option<W>,
    report: &'c mut HedgeReport<Result<T, E>>,
    /// The failure of the value that was judged last.
    failed_value: Option<V::Failure>,
}

impl<'r, Op, Fut, T, E, V, W> RaceDriver<'r, Fut> for OperationDriver<'_, Op, T, E, V, W>
where
    Op: Operation<Fut, T, E>,
    Fut: Future,
    V: Values<T>,
    W: FnMut(&E) -> bool,
{
    fn goes_on(&mut self) -> bool {
        true
    }

    fn begin(&mut self) -> Option<Fut> {
        self.operation.hedge(Seal)
    }

    fn judge(&mut self, output: &Fut::Output, member: &mut RaceMember<'_, 'r>) {
        let Self { common, rules, when, failed_value, .. } = self;
        let (failed, when) = match Op::result(output) {
            Ok(value) => match common.values.failure(value) {
                Some(failure) => (FailedAttempt::Value(failed_value.insert(failure)), None),
                None => return,
            },
            Err(error) => (FailedAttempt::Error(error), when.as_mut()),
        };
        let when = when.map(|when| when as &mut dyn FnMut(&E) -> bool);
        member.failed(common.settings.verdict(rules, &failed, when));
    }

    fn keep(&mut self, output: Fut::Output, judgement: Judgement, failure: Option<PastFailure>) {
        self.report.keep(self.operation.end(output), judgement, failure);
    }

    fn decide(&mut self, outcome: Result<(), Judgement>) {
        self.report.decide(outcome);
    }
}

impl<'r, Op, Fut, T, E, V> Run<'r, Op, Fut, T, E, V> {
    pub(super) fn new(common: &'r Common<V>, rules: &'r ErrorRules<E>, operation: Op) -> Self {
        Self::of(Parts { common, rules, operation, when: None, on_retry: None })
    }
}

impl<'r, Op, Fut, T, E, V, W, L> Run<'r, Op, Fut, T, E, V, W, L> {
    fn of(parts: Parts<'r, Op, E, V, W, L>) -> Self {
        Self { parts, state: RunState::Unbegun }
    }
}

impl<'r, Op, Fut, T, E, V, W, L> Run<'r, Op, Fut, T, E, V, W, L>
where
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    /// For this call, also retries failures for which `predicate` holds: in addition to those that
    /// the retrier's own list matches, or, if it has none, only these.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new()).opaque();
    /// let error = retrier.blocking(|| Err::<(), u16>(404)).when(|code| *code >= 500).call();
    /// assert_eq!(error.unwrap_err().attempts(), 1);
    /// ```
    pub fn when<F>(self, mut predicate: F) -> Run<'r, Op, Fut, T, E, V, impl FnMut(&E) -> bool, L>
    where
        F: FnMut(&E) -> bool,
    {
        let Parts { common, rules, operation, when: mut first, on_retry } = self.parts;
        let when =
            move |error: &E| first.as_mut().is_some_and(|first| first(error)) || predicate(error);
        Run::of(Parts { common, rules, operation, when: Some(when), on_retry })
    }

    /// For this call, calls `listener` with each failure that will be retried, before the wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # use std::time::Duration;
    /// let retrier = Retrier::new(Policy::new().attempts(2).max_delay(Duration::from_millis(1)));
    /// let mut last = None;
    /// let _ = retrier
    ///     .blocking(|| Err::<(), _>("down"))
    ///     .on_retry(|event| last = event.error().copied())
    ///     .call();
    /// assert_eq!(last, Some("down"));
    /// ```
    pub fn on_retry<F, R>(self, listener: F) -> Run<'r, Op, Fut, T, E, V, W, Listeners<L, F, R>>
    where
        F: FnMut(&RetryEvent<'_, E>) -> R,
        R: Nothing,
    {
        let Parts { common, rules, operation, when, on_retry: first } = self.parts;
        let on_retry = Some(Listeners { first, last: listener, returned: PhantomData });
        Run::of(Parts { common, rules, operation, when, on_retry })
    }
}

impl<'r, Op, Fut, T, E, V, W, L> Ongoing<'_, 'r, Op, Fut, T, E, V, W, L>
where
    Op: Operation<Fut, T, E>,
    Fut: Future,
    V: Values<T>,
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    /// Begins an attempt or the wait for the breaker, or ends the call.
    #[inline(always)]
    fn begin(&mut self) -> Option<Op::Output> {
        let Self { parts: Parts { common, operation, rules, .. }, attempt: slot, progress } = self;
        let settings = &common.settings;
        // Unless an attempt begins, and even if the operation panics.
        progress.stage = RunStage::Done;
        match settings.admit(rules, &mut progress.call) {
            Ok(permit) => progress.permit = permit,
            Err(Some(end)) => return Some(operation.finish(end)),
            Err(None) => {
                progress.stage = RunStage::Wait;
                return None;
            }
        }
        let attempt = operation.begin(|| progress.call.attempt(&settings.context()), Seal);
        match &mut progress.call.timer {
            None => {
                slot.set(Some(attempt));
                progress.stage = RunStage::Attempt;
            }
            Some(timer) => {
                let attempt = timer.limits.limit(Race::new(attempt));
                timer.attempt = Some(Box::pin(attempt));
                progress.stage = RunStage::Race;
            }
        }
        None
    }

    /// Handles the outcome of an attempt that was not hedged.
    fn ended(&mut self, permit: Option<Permit<'r>>, outcome: Result<T, E>) -> Option<Op::Output> {
        match outcome {
            Ok(value) => self.returned(permit, value),
            error => self.failed(permit, attempt_result(error), None, &HedgeReport::new()),
        }
    }

    /// Handles a failed attempt: the call ends or waits.
    #[cold]
    #[inline(never)]
    fn failed(
        &mut self,
        permit: Option<Permit<'r>>,
        outcome: AttemptResult<T, E>,
        value: Option<&V::Failure>,
        report: &HedgeReport<Result<T, E>>,
    ) -> Option<Op::Output> {
        let Self { parts, attempt: slot, progress } = self;
        // Nothing of the attempt stays alive during the wait.
        slot.set(None);
        if let Some(timer) = &mut progress.call.timer {
            timer.attempt = None;
        }
        progress.stage = RunStage::Wait;
        let Parts { common, rules, operation, when, on_retry } = parts;
        let value = value.map(|value| value as &dyn FailedValue);
        let (attempt, can_repeat) = (operation.attempt(), operation.can_repeat());
        let failed = FailedOutcome {
            outcome,
            value,
            attempt,
            can_repeat,
            may_hedge: true,
            report,
            when: when.as_mut().map(|when| when as _),
            on_retry: on_retry.as_mut().map(|listener| listener as _),
        };
        let call = &mut progress.call;
        match common.settings.failed(rules, call, permit, failed) {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(end) => {
                progress.stage = RunStage::Done;
                Some(operation.finish(end))
            }
        }
    }

    /// Handles a value that an attempt returned.
    #[inline(always)]
    fn returned(&mut self, permit: Option<Permit<'r>>, value: T) -> Option<Op::Output> {
        if let Some(failure) = self.parts.common.values.failure(&value) {
            return self.failed(permit, Ok(value), Some(&failure), &HedgeReport::new());
        }
        Some(self.succeeded(permit, value))
    }

    /// Ends the call with the value of an attempt.
    #[inline(always)]
    fn succeeded(&mut self, permit: Option<Permit<'r>>, value: T) -> Op::Output {
        self.progress.stage = RunStage::Done;
        self.parts.common.settings.succeeded(take(&mut self.progress.call), permit);
        self.parts.operation.finish(Ok(value))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Op::Output> {
        loop {
            let Self { parts, attempt, progress } = self;
            let ended = match (progress.stage, attempt.as_mut().as_pin_mut()) {
                // The permit is held here while its attempt is polled: if that panics, it is
                // dropped during the panic, which counts as a failure.
                (RunStage::Attempt, Some(attempt)) => {
                    let held = progress.permit.take();
                    match attempt.poll(cx) {
                        Poll::Pending => {
                            progress.permit = held;
                            return Poll::Pending;
                        }
                        Poll::Ready(output) => {
                            let outcome = parts.operation.end(output);
                            self.ended(held, outcome)
                        }
                    }
                }
                _ => ready!(self.poll_rest(cx)),
            };
            if let Some(output) = ended {
                return Poll::Ready(output);
            }
        }
    }

    /// The stages that a call without time limits never reaches if it succeeds at its first
    /// attempt.
    #[cold]
    #[inline(never)]
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Op::Output>> {
        let Self { parts, progress, .. } = self;
        match progress.stage {
            RunStage::Begin => {
                let policy = &parts.common.settings.policy;
                progress.call.timer = Some(Box::new(RunTimer {
                    limits: CallLimits::of(policy),
                    hedge: HedgePolicy::of(policy),
                    attempt: None,
                    report: HedgeReport::new(),
                }));
                Poll::Ready(self.begin())
            }
            RunStage::Wait => {
                ready!(progress.call.poll_on_terms(cx));
                Poll::Ready(self.begin())
            }
            RunStage::Race => {
                let Progress { call, permit, .. } = progress;
                let number = call.number();
                let Some(timer) = &mut call.timer else { unreachable!("a race has a timer") };
                let RunTimer { limits, hedge, attempt: Some(attempt), report } = &mut **timer
                else {
                    unreachable!("an attempt that is polled has not ended")
                };
                let mut held = permit.take();
                let Parts { common, rules, operation, when, .. } = parts;
                let context = || common.settings.race_context(number);
                let mut calling =
                    OperationDriver { operation, common, rules, when, report, failed_value: None };
                let polled = attempt.as_mut().poll_with(cx, |race, cx| {
                    race.poll(cx, *hedge, context, &mut calling, held.as_mut())
                });
                let failed_value = calling.failed_value;
                let Poll::Ready(limited) = polled else {
                    *permit = held;
                    return Poll::Pending;
                };
                limits.record(&limited);
                let mut report = take(report);
                // The attempt and its hedges are dropped before the outcome is reported.
                timer.attempt = None;
                let outcome = match limited {
                    Ok(output) => attempt_result(operation.end(output)),
                    Err((_, interrupted)) => match call.failure_before_limit(&mut report) {
                        Some(last) => attempt_result(last),
                        None => Err(AttemptError::Interrupted(interrupted)),
                    },
                };
                Poll::Ready(match (outcome, report.has_failed()) {
                    (Ok(value), None) => self.returned(held, value),
                    (Ok(value), Some(false)) => Some(self.succeeded(held, value)),
                    (outcome, _) => self.failed(held, outcome, failed_value.as_ref(), &report),
                })
            }
            RunStage::Attempt | RunStage::Done => panic!("a call is polled after it has ended"),
        }
    }
}

impl<'r, Op, Fut, T, E, V, W, L> Run<'r, Op, Fut, T, E, V, W, L>
where
    Op: Operation<Fut, T, E>,
    Fut: Future,
    V: Values<T>,
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    /// Decides what follows the first attempt of a plain retrier, which has failed with this
    /// outcome, a value with its `failure` or an error. Returns the output of a call that ends.
    #[cold]
    #[inline(never)]
    fn first_failed(
        self: Pin<&mut Self>,
        outcome: Result<T, E>,
        failure: Option<&V::Failure>,
    ) -> Option<Op::Output> {
        let mut ongoing = self.begin_rest(RunStage::Attempt);
        ongoing.failed(None, attempt_result(outcome), failure, &HedgeReport::new())
    }

    /// Polls the call wherever it stands.
    #[inline(never)]
    fn poll_from_any_state(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Op::Output> {
        if matches!(self.state, RunState::Unbegun) {
            let mut ongoing = self.as_mut().begin_rest(RunStage::Begin);
            if !ongoing.parts.common.settings.needs_timer {
                if let Some(output) = ongoing.begin() {
                    return Poll::Ready(output);
                }
            }
        }
        self.ongoing().poll(cx)
    }

    fn begin_rest(
        mut self: Pin<&mut Self>,
        from: RunStage,
    ) -> Ongoing<'_, 'r, Op, Fut, T, E, V, W, L> {
        let begun = RunState::Begun { attempt: None, rest: Some(Rest::new(from)) };
        self.as_mut().project().state.set(begun);
        self.ongoing()
    }

    fn ongoing(self: Pin<&mut Self>) -> Ongoing<'_, 'r, Op, Fut, T, E, V, W, L> {
        let this = self.project();
        let RunStateProjection::Begun { attempt, rest: Some(Rest(progress)) } =
            this.state.project()
        else {
            panic!("a call is polled after it has ended")
        };
        Ongoing { parts: this.parts, attempt, progress }
    }
}

impl<Op, Fut, T, E, V, W, L> Future for Run<'_, Op, Fut, T, E, V, W, L>
where
    Op: Operation<Fut, T, E>,
    Fut: Future,
    V: Values<T>,
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    type Output = Op::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Op::Output> {
        let mut this = self.as_mut().project();
        let Parts { common, operation, .. } = this.parts;
        if matches!(*this.state, RunState::Unbegun) && common.settings.is_plain {
            let context = || Session::<()>::new().attempt(&common.settings.context());
            let attempt = Some(operation.begin(context, Seal));
            this.state.set(RunState::Begun { attempt, rest: None });
        }
        let first = match this.state.as_mut().project() {
            RunStateProjection::Begun { attempt, rest: None } => attempt.as_pin_mut(),
            _ => None,
        };
        let Some(attempt) = first else { return self.poll_from_any_state(cx) };
        let output = ready!(attempt.poll(cx));
        let (outcome, failure) = match operation.end(output) {
            Ok(value) => match common.values.failure(&value) {
                None => {
                    this.state.set(RunState::Succeeded);
                    succeeded_first_try(common.settings.origin());
                    return Poll::Ready(operation.finish(Ok(value)));
                }
                failure => (Ok(value), failure),
            },
            error => (error, None),
        };
        match self.as_mut().first_failed(outcome, failure.as_ref()) {
            Some(output) => Poll::Ready(output),
            None => self.poll_from_any_state(cx),
        }
    }
}

retry_rules::partial_debug!([Op, Fut, T, E, V, W, L] Run<'_, Op, Fut, T, E, V, W, L>, |self| {
    name: &self.parts.common.settings.name,
});
