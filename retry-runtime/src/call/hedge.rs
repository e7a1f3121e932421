//! [`Hedged`]: an attempt that is joined by another one if it does not answer in time.
//!
//! Until the attempt has once not been ready, there is nothing of a hedge: no timer, no allocation.

pub(crate) mod contexts;
pub(crate) mod group;
pub(crate) mod latencies;

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::base::clock::{self, Instant};
use crate::call::hedge::contexts::Contexts;
use crate::call::hedge::group::{Caller, Group, Hedge, Judged, Member, Terms};
use crate::call::hedge::latencies::Latencies;
use crate::call::plan::Plan;
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::RetryQuota;
use crate::site::{Origin, Site};

/// A body that can be begun several times. One trait with an associated type: with two parameters
/// the compiler cannot prove that the future of a closure is `Send`.
pub trait Body {
    /// An attempt.
    type Attempt: Future;

    /// Begins an attempt.
    fn begin(&self) -> Self::Attempt;
}

impl<F: Fn() -> A, A: Future> Body for F {
    type Attempt = A;

    #[inline(always)]
    fn begin(&self) -> A {
        self()
    }
}

/// When the attempts of a call are hedged: read once for each call.
#[derive(Clone, Copy, Debug)]
pub struct Hedging {
    hedge: Option<Hedge>,
    latencies: Option<&'static Latencies>,
}

impl Hedging {
    /// As the policy says.
    #[inline(always)]
    pub fn start(plan: &Plan<'_>) -> Self {
        Self { hedge: Hedge::of(&plan.obeyed()), latencies: None }
    }

    /// After a percentile of the times that the function's calls take. An override of the policy
    /// wins over it.
    pub fn by_percentile(plan: &Plan<'_>, latencies: &'static Latencies) -> Self {
        let policy = plan.obeyed();
        let max = policy.get_max_hedges();
        let measured = || latencies.percentile().map(|after| Hedge { after, max });
        Self { hedge: Hedge::of(&policy).or_else(measured), latencies: Some(latencies) }
    }
}

pin_project_lite::pin_project! {
    /// An attempt with its hedges.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Hedged<'a, 'p, B, C, J>
    where
        B: Body,
    {
        #[pin]
        first: Option<B::Attempt>,
        // `None` until the attempt has once not been ready.
        group: Option<Box<Group<'a, B::Attempt>>>,
        parts: Parts<'a, 'p, B, C, J>,
    }
}

/// What belongs to a group besides its attempts.
struct Parts<'a, 'p, B: Body, C, J> {
    begins: Begins<'a, B, C, J>,
    origin: Origin<'a>,
    attempt: u32,
    hedge: Option<Hedge>,
    measured: Option<(&'static Latencies, Instant)>,
    breaker: Option<&'a CircuitBreaker>,
    permit: Option<&'p mut Permit<'a>>,
    quota: Option<&'a RetryQuota>,
    contexts: Option<&'a Contexts>,
}

/// The closures of the call.
struct Begins<'a, B: Body, C, J> {
    body: B,
    goes_on: C,
    judge: J,
    // Stored instead of required of `J` where the future is polled: for an outcome that borrows, the
    // compiler cannot prove there that the future is `Send`.
    call_judge: Judge<'a, J, <B::Attempt as Future>::Output>,
}

type Judge<'a, J, R> = fn(&J, &R, &mut Member<'a>) -> Judged;

impl<'a, B: Body, C: FnMut() -> bool, J> Caller<'a, B::Attempt> for Begins<'a, B, C, J> {
    fn goes_on(&mut self) -> bool {
        (self.goes_on)()
    }

    fn begin(&mut self) -> Option<B::Attempt> {
        Some(self.body.begin())
    }

    fn judge(
        &mut self,
        outcome: &<B::Attempt as Future>::Output,
        member: &mut Member<'a>,
    ) -> Judged {
        (self.call_judge)(&self.judge, outcome, member)
    }
}

impl<'a, 'p, B: Body, C, J> Hedged<'a, 'p, B, C, J>
where
    C: FnMut() -> bool,
    J: Fn(&<B::Attempt as Future>::Output, &mut Member<'a>) -> Judged,
{
    /// Hedges attempt `attempt` of a call, of which `judge` says what an outcome means. No hedge
    /// begins once `goes_on` returns `false`.
    #[inline(always)]
    pub fn new(
        (hedging, site, attempt): (Hedging, &'static Site, u32),
        body: B,
        goes_on: C,
        judge: J,
    ) -> Self {
        let Hedging { hedge, latencies } = hedging;
        let first = Some(body.begin());
        let parts = Parts {
            begins: Begins {
                body,
                goes_on,
                judge,
                call_judge: |judge, outcome, member| judge(outcome, member),
            },
            origin: site.into(),
            attempt,
            hedge,
            measured: latencies.map(|latencies| (latencies, clock::now())),
            breaker: None,
            permit: None,
            quota: None,
            contexts: None,
        };
        Self { first, group: None, parts }
    }

    /// Sets the breaker that admits hedges, and the permit of the attempt. When the group has ended,
    /// that is the permit of the attempt whose outcome counts.
    #[inline(always)]
    pub fn breaker(mut self, breaker: &'a CircuitBreaker, permit: &'p mut Permit<'a>) -> Self {
        (self.parts.breaker, self.parts.permit) = (Some(breaker), Some(permit));
        self
    }

    /// Sets the quota that pays for hedges.
    #[inline(always)]
    pub fn quota(mut self, quota: &'a RetryQuota) -> Self {
        self.parts.quota = Some(quota);
        self
    }

    /// Sets the contexts that the bodies take when they begin.
    #[inline(always)]
    pub fn contexts(mut self, contexts: &'a Contexts) -> Self {
        self.parts.contexts = Some(contexts);
        self
    }
}

impl<'a, B: Body, C: FnMut() -> bool, J> Parts<'a, '_, B, C, J> {
    #[cold]
    fn group(&self, hedge: Hedge) -> Box<Group<'a, B::Attempt>> {
        let Self { origin, attempt, breaker, quota, contexts, .. } = *self;
        Box::new(Group::new(Terms { origin, attempt, hedge, breaker, quota, contexts }))
    }

    /// Records how long a call took that has succeeded.
    #[inline]
    fn measure(&mut self, outcome: &<B::Attempt as Future>::Output) {
        if let Some((latencies, began)) = self.measured {
            if self.begins.judge(outcome, &mut Member::alone()) == Judged::Success {
                latencies.record(clock::now().saturating_duration_since(began));
            }
        }
    }
}

impl<B: Body, C: FnMut() -> bool, J> Future for Hedged<'_, '_, B, C, J> {
    type Output = <B::Attempt as Future>::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let parts = this.parts;
        if let Some(first) = this.first.as_mut().as_pin_mut() {
            if let Poll::Ready(outcome) = first.poll(cx) {
                this.first.set(None);
                let permit = parts.permit.as_deref_mut();
                let outcome = match this.group {
                    Some(group) => group.first_ended(outcome, &mut parts.begins, permit),
                    None => Some(outcome),
                };
                if let Some(outcome) = outcome {
                    parts.measure(&outcome);
                    return Poll::Ready(outcome);
                }
            }
        }
        let Some(hedge) = parts.hedge else { return Poll::Pending };
        let group = this.group.get_or_insert_with(|| parts.group(hedge));
        let permit = parts.permit.as_deref_mut();
        let outcome = ready!(group.poll(cx, &mut parts.begins, permit));
        parts.measure(&outcome);
        Poll::Ready(outcome)
    }
}

impl<B: Body, C, J> fmt::Debug for Hedged<'_, '_, B, C, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hedged").field("hedge", &self.parts.hedge).finish_non_exhaustive()
    }
}
