//! [`Closure`]: work that is a closure of the caller's, with one policy for it.

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use retry_runtime::durable::{Decider, Description, Fault};
use retry_runtime::{Interrupted, Reason, Retrier};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::engine::retry_state::{NextStep, RetryState};
use crate::engine::work::{End, Ended, Given, ItemContext, Note, Work};
use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::AttemptOutcome;

/// A closure that handles items of type `I`. `Kinds` are those by which its errors are judged
/// and read.
pub(crate) struct Closure<I, H, M, Kinds> {
    handler: H,
    retrier: Retrier<M>,
    kinds: PhantomData<fn(I) -> Kinds>,
}

impl<I, H, M, Kinds> Closure<I, H, M, Kinds> {
    pub(crate) fn new(handler: H, retrier: Retrier<M>) -> Self {
        Self { handler, retrier, kinds: PhantomData }
    }
}

impl<I, H, M, Fut, T, E, Judging, Telling> Work for Closure<I, H, M, (Judging, Telling)>
where
    I: DeserializeOwned + Send + 'static,
    H: Fn(I, ItemContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send,
    E: Display + Fault<Telling>,
    M: Decider<E, Judging> + Send + Sync + 'static,
    Judging: 'static,
    Telling: 'static,
{
    async fn attempt(self: Arc<Self>, given: Given<'_>) -> Ended {
        let Given { mut cx, payload, progress } = given;
        let started = Timestamp::now();
        let began = Instant::now();
        let note = |outcome, failure| Note {
            step: None,
            started,
            duration: began.elapsed(),
            outcome,
            failure,
        };
        let worker = Arc::clone(&cx.worker);
        let kept: Option<RetryState> =
            progress.as_deref().and_then(|progress| serde_json::from_str(progress).ok());
        cx.retries = kept.as_ref().map_or(0, RetryState::attempts);
        if let Some(kept) = &kept
            && kept.is_expired(self.retrier.policy(), &worker)
        {
            let end = End::Failed { failure: kept.failure.clone(), reason: Reason::Budget };
            return Ended { notes: Vec::new(), end };
        }
        let item: I = match serde_json::from_str(payload) {
            Ok(item) => item,
            Err(error) => {
                let message = format!("the payload is no `{}`: {error}", short_name::<I>());
                let failure = Failure::new("payload", message);
                let end = End::Failed { failure: failure.clone(), reason: Reason::NotRetryable };
                return Ended { notes: vec![note(AttemptOutcome::Failed, Some(failure))], end };
            }
        };
        let handling = (self.handler)(item, cx);
        let outcome = match self.retrier.policy().get_timeout() {
            None => handling.await.map_err(Ok),
            Some(limit) => match tokio::time::timeout(limit, handling).await {
                Ok(outcome) => outcome.map_err(Ok),
                Err(_) => Err(Err(Interrupted::timeout(limit))),
            },
        };
        let (failure, error) = match &outcome {
            Ok(_) => {
                if let Some(kept) = &kept {
                    kept.succeeded(&self.retrier);
                }
                let notes = vec![note(AttemptOutcome::Succeeded, None)];
                return Ended { notes, end: End::Succeeded(None) };
            }
            Err(Ok(error)) => (Failure::of(Description::of(error)), Ok(error)),
            Err(Err(cut)) => (Failure::of(Description::of(cut)), Err(*cut)),
        };
        let notes = vec![note(AttemptOutcome::Failed, Some(failure.clone()))];
        let end = match RetryState::decide(kept, &self.retrier, &worker, error, &failure) {
            NextStep::GiveUp(reason) => End::Failed { failure, reason },
            NextStep::Wait(wait, kept) => match serde_json::to_string(&kept) {
                Ok(progress) => End::Again { wait, progress },
                Err(_) => End::Failed { failure, reason: Reason::NotRetryable },
            },
        };
        Ended { notes, end }
    }
}

/// A type without the path to it.
fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) }
}
