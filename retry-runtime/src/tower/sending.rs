//! The attempts of a call of a service: each sends the request again.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker, ready};

use retry_rules::Policy;
use tokio::task::coop::unconstrained;
use tower_service::Service;

use super::layer::Parts;
use super::requests::{Requests, Supply};
use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::outcome::error::RetryError;
use crate::retrier::Operation;

/// The source of the attempts of a call: its service and its request.
pub(super) struct Source<S, Q> {
    service: S,
    supply: Supply<Q>,
}

impl<S, Q> Source<S, Q> {
    /// The attempts of a call of `service`.
    #[inline]
    pub(super) const fn new(service: S, request: Q) -> Self {
        Self { service, supply: Supply::Many(request) }
    }
}

/// A source while it makes attempts.
pub(super) struct Sending<'p, S, Q, C> {
    source: &'p mut Source<S, Q>,
    requests: &'p C,
    policy: &'p Policy,
    awaits_readiness: bool,
    /// Set if each failure uses up an attempt, so that the policy determines the last attempt.
    counts_all: bool,
}

impl<'p, S: Service<Q>, Q, C: Requests<Q>> Sending<'p, S, Q, C> {
    #[inline]
    pub(super) fn new<D, R>(source: &'p mut Source<S, Q>, parts: &'p Parts<D, R, C>) -> Self {
        let (requests, settings) = (&parts.requests, parts.retrier.settings());
        let (awaits_readiness, counts_all) = (settings.awaits_readiness(), settings.counts_all());
        let policy = parts.retrier.policy();
        Self { source, requests, policy, awaits_readiness, counts_all }
    }

    /// Begins the first attempt: the caller has waited until the service is ready.
    #[inline]
    pub(super) fn first(&mut self) -> Option<S::Future> {
        self.prepare(1);
        self.send()
    }

    /// Begins attempt `number`, unless the call has to wait until the service is ready.
    #[inline]
    pub(super) fn begin(&mut self, number: u32) -> Option<S::Future> {
        if number == 1 && !self.awaits_readiness {
            return self.first();
        }
        self.prepare(number);
        None
    }

    /// Determines whether the request has to be kept after this attempt.
    #[inline]
    fn prepare(&mut self, attempt: u32) {
        if self.counts_all && !self.policy.allows_after(attempt) && !self.policy.is_hedged() {
            self.source.supply.end_with_next();
        }
    }

    #[inline]
    fn send(&mut self) -> Option<S::Future> {
        let request = self.source.supply.next(self.requests)?;
        Some(self.source.service.call(request))
    }
}

impl<S, Q, C> Operation<S::Future, S::Response, S::Error> for Sending<'_, S, Q, C>
where
    S: Service<Q> + Clone,
    C: Requests<Q>,
{
    type Output = Result<S::Response, RetryError<S::Error>>;

    fn begin(&mut self, number: u32, _: impl FnOnce() -> Attempt, _: Seal) -> Option<S::Future> {
        self.begin(number)
    }

    fn poll_begun(&mut self, cx: &mut Context<'_>, _: Seal) -> Poll<Result<S::Future, S::Error>> {
        if let Err(error) = ready!(self.source.service.poll_ready(cx)) {
            // Such a service must not be used any more.
            self.source.supply = Supply::Spent;
            return Poll::Ready(Err(error));
        }
        let Some(attempt) = self.send() else {
            unreachable!("what cannot be sent again is not retried")
        };
        Poll::Ready(Ok(attempt))
    }

    fn hedge(&mut self, _: Seal) -> Option<S::Future> {
        let request = self.source.supply.copy(self.requests)?;
        let mut own = self.source.service.clone();
        is_ready(&mut own).then(|| own.call(request))
    }

    fn end(&mut self, output: Result<S::Response, S::Error>) -> Result<S::Response, S::Error> {
        output
    }

    fn can_repeat(&self) -> bool {
        !matches!(self.source.supply, Supply::Spent)
    }

    fn finish(&mut self, result: Self::Output) -> Self::Output {
        result
    }
}

/// Returns whether a service can be called now. A hedge does not wait for that: it would hold a
/// permit and tokens meanwhile, and a service without free capacity must not get the request twice.
fn is_ready<S: Service<Q>, Q>(service: &mut S) -> bool {
    // The attempt that is hedged may have used up the task's budget.
    let ready = pin!(unconstrained(poll_fn(|cx| service.poll_ready(cx))));
    matches!(ready.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
}
