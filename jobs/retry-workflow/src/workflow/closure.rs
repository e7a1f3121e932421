//! [`Closure`]: work that is a closure of the caller's, with its policy.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use retry_runtime::durable::{Describes, Description};
use retry_runtime::retrier::Decider;
use retry_runtime::{Class, Interrupted, Reason, Retrier};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::retry_state::{NextStep, RetryState};
use crate::engine::work::{
    AttemptReport, AttemptTimer, BoxFuture, POSTPONED, Work, WorkItem, WorkOutcome, postponement,
};
use crate::item::context::ItemContext;
use crate::item::failure::Failure;

/// An item as the store keeps it, and the handler gets it back.
///
/// Implemented for every type that is `Serialize + DeserializeOwned + Send + 'static`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an item of a job: it cannot be stored as JSON and read back",
    label = "the items are of type `{Self}`",
    note = "if it is your own type, write `#[derive(serde::Serialize, serde::Deserialize)]` above it",
    note = "if it is a reference, pass owned items: `orders` or `orders.iter().cloned()` instead of \
            `&orders`, `String` instead of `&str`",
    note = "if it is a `Result`, handle its error first: a job has items only"
)]
pub trait Payload: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Payload for T {}

/// A way to read errors of type `E`, for a decision and for the history. The kinds are inferred.
///
/// Implemented for everything that is both a [`Decider`] and [`Describes`] such errors.
#[diagnostic::on_unimplemented(
    message = "a handler cannot fail with `{E}`, whose text or class cannot be read",
    label = "the handler fails with `{E}`",
    note = "implement `std::error::Error` for `{E}`, for example with `#[derive(Debug, \
            thiserror::Error)]`",
    note = "or add `.opaque()` to the workflow, if `{E}` has nothing but a text (`Display`)",
    note = "after `.classified()`, `{E}` must also implement `retry_workflow::Classify`"
)]
pub trait ReadsErrors<E, DeciderKind, TextKind>:
    Decider<E, DeciderKind> + Describes<E, TextKind> + Send + Sync + 'static
{
}

#[diagnostic::do_not_recommend]
impl<D, E, DeciderKind, TextKind> ReadsErrors<E, DeciderKind, TextKind> for D where
    D: Decider<E, DeciderKind> + Describes<E, TextKind> + Send + Sync + 'static
{
}

/// A closure that handles items of type `I`. `Kinds` are the kinds of its errors for the decider
/// and for their [descriptions](Describes).
pub(crate) struct Closure<I, H, D, Kinds> {
    handler: H,
    rules: Rules<D>,
    kinds: PhantomData<fn(I) -> Kinds>,
}

/// The rules for the attempts of a closure, whatever its type.
struct Rules<D> {
    retrier: Retrier<D>,
    postponement: Postponement,
}

/// Calls a closure with an item, which is read from its payload.
type Call<'a, T, E> =
    dyn Fn(&str, ItemContext) -> serde_json::Result<BoxFuture<'static, Result<T, E>>> + Sync + 'a;

/// The conditions under which an item comes back without using up an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Postponement {
    /// The time for which an item may be postponed in a run.
    pub(crate) most: Duration,
    /// The classes of failures that postpone it.
    pub(crate) uncounted: Class,
}

impl Postponement {
    pub(crate) const DEFAULT: Self =
        Self { most: Duration::from_secs(24 * 60 * 60), uncounted: Class::empty() };
}

impl<I, H, D, Kinds> Closure<I, H, D, Kinds> {
    pub(crate) fn new(handler: H, retrier: Retrier<D>, postponement: Postponement) -> Self {
        Self { handler, rules: Rules { retrier, postponement }, kinds: PhantomData }
    }
}

impl<I, H, D, Fut, T, E, DeciderKind, TextKind> Work for Closure<I, H, D, (DeciderKind, TextKind)>
where
    I: DeserializeOwned + Send + 'static,
    H: FnOnce(I, ItemContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    D: ReadsErrors<E, DeciderKind, TextKind>,
    DeciderKind: 'static,
    TextKind: 'static,
{
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let call = |payload: &str, context| -> serde_json::Result<BoxFuture<'static, _>> {
            let item: I = serde_json::from_str(payload)?;
            Ok(Box::pin((self.handler.clone())(item, context)))
        };
        self.rules.attempt::<T, E, _, _>(item, short_name::<I>(), &call).await
    }
}

impl<D> Rules<D> {
    /// Makes an attempt at an item that is of the type `expected`.
    async fn attempt<T, E, DeciderKind, TextKind>(
        &self,
        item: WorkItem<'_>,
        expected: &str,
        call: &Call<'_, T, E>,
    ) -> AttemptReport
    where
        D: ReadsErrors<E, DeciderKind, TextKind>,
    {
        let WorkItem { mut context, payload, checkpoint, is_continued, postponed } = item;
        let asked = Arc::new(AtomicU64::new(0));
        context.postponed = Some(Arc::clone(&asked));
        let timer = AttemptTimer::start();
        let worker = Arc::clone(&context.worker);
        // A run that starts with the state of another one, as after a re-drive from the failed
        // step, has all its attempts.
        let left = checkpoint.filter(|_| is_continued);
        let mut state: Option<RetryState> =
            left.as_deref().and_then(|state| serde_json::from_str(state).ok());
        state.iter_mut().for_each(RetryState::resume);
        context.retries = state.as_ref().map_or(0, RetryState::attempts);
        if let Some(state) = &state
            && let Some(reason) = state.expired_by(self.retrier.policy(), &worker)
        {
            // Nothing was tried, so nothing is recorded.
            let failure = state.failure.clone();
            return AttemptReport::new(WorkOutcome::Failed { failure, reason });
        }
        let handling = match call(payload, context) {
            Ok(handling) => handling,
            Err(error) => {
                let message = format!("the payload is not a `{expected}`: {error}");
                let failure = Failure::new("payload", message);
                return AttemptReport::failed(timer, failure, Reason::NotRetryable);
            }
        };
        let result = match self.retrier.policy().get_timeout() {
            None => handling.await.map_err(Ok),
            Some(limit) => match tokio::time::timeout(limit, handling).await {
                Ok(result) => result.map_err(Ok),
                Err(_) => Err(Err(Interrupted::timeout(limit))),
            },
        };
        let (description, error) = match &result {
            Ok(_) => {
                if let Some(state) = &state {
                    state.succeeded(&self.retrier);
                }
                return AttemptReport::succeeded(timer, None);
            }
            Err(Ok(error)) => (self.retrier.describe(error), Ok(error)),
            Err(Err(cut)) => (Description::of(cut), Err(cut)),
        };
        let class = description.class;
        let mut failure = Failure::described(description);
        let wait = Duration::from_nanos(asked.load(Ordering::Relaxed));
        let rest = self.postponement.most.saturating_sub(postponed);
        let mut uncounted = class.intersects(self.postponement.uncounted).then_some(rest);
        if error.is_ok() && !wait.is_zero() {
            let wait = postponement(wait);
            if wait <= rest {
                let checkpoint = state.and_then(|mut state| {
                    state.postpone(timer.elapsed(), wait);
                    serde_json::to_string(&state).ok()
                });
                let outcome = WorkOutcome::Postponed { wait, checkpoint };
                return AttemptReport::new(outcome).record(timer.failed(failure));
            }
            POSTPONED.clone_into(&mut failure.class);
            uncounted = None;
        }
        let record = timer.failed(failure.clone());
        let asked = error.ok().and_then(|error| self.retrier.asked_wait(error));
        let mut next =
            RetryState::decide(state, &self.retrier, &worker, error, &failure, uncounted);
        if let NextStep::Postpone { wait, state } = &mut next {
            state.postpone(timer.elapsed(), *wait);
        }
        AttemptReport::new(next.into_outcome(failure)).asked_wait(asked).record(record)
    }
}

/// The name of a type without its path.
fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) }
}
