//! [`Hedged`]: an attempt that is joined by another one if it does not answer in time.
//!
//! Until the attempt has once returned pending, a hedge costs nothing: no timer, no allocation.

pub(crate) mod contexts;
pub(crate) mod group;
pub(crate) mod latencies;
pub(crate) mod member;
pub(crate) mod report;

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use retry_rules::Bound;

use crate::call::call_context::CallContext;
use crate::call::hedge::group::{Caller, Group, Hedge, Terms};
use crate::call::hedge::latencies::Latencies;
use crate::call::hedge::member::{HedgeOutcome, Member};
use crate::call::hedge::report::HedgeReport;
use crate::call::session::Decision;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::Permit;

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

/// The hedging of a call's attempts: read once for each call.
#[derive(Clone, Copy, Debug)]
pub struct Hedging(Option<Hedge>);

impl Hedging {
    /// As the policy says.
    #[inline(always)]
    pub fn start(context: &CallContext<'_>) -> Self {
        Self(Hedge::of(&context.effective_policy()))
    }

    /// Hedges after a percentile of the times that the function's attempts take, unless an override
    /// sets a delay or ends the hedges.
    pub fn by_percentile(context: &CallContext<'_>, latencies: &Latencies) -> Self {
        let policy = context.effective_policy();
        let after = match policy.hedge_bound() {
            Bound::None => latencies.percentile(),
            bound => bound.limit(),
        };
        Self(after.map(|after| Hedge { after, max: policy.get_max_hedges() }))
    }
}

pin_project_lite::pin_project! {
    /// An attempt and the hedges that have joined it.
    pub(crate) struct Race<'a, F> {
        // `None` once it has ended while hedges run.
        #[pin]
        first: Option<F>,
        // `None` until the attempt has once returned pending.
        group: Option<Box<Group<'a, F>>>,
    }
}

impl<'a, F: Future> Race<'a, F> {
    #[inline(always)]
    pub(crate) const fn new(first: F) -> Self {
        Self { first: Some(first), group: None }
    }

    /// Polls the attempt, and its hedges on behalf of `caller`. Afterwards, `permit` is the permit
    /// of the member whose outcome is returned.
    #[inline]
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        hedge: Option<Hedge>,
        terms: impl FnOnce() -> Terms<'a>,
        caller: &mut impl Caller<'a, F>,
        permit: Option<&mut Permit<'a>>,
    ) -> Poll<F::Output> {
        let mut this = self.project();
        let is_alone = this.group.is_none();
        if is_alone {
            if let Some(first) = this.first.as_mut().as_pin_mut() {
                if let Poll::Ready(outcome) = first.poll(cx) {
                    return Poll::Ready(outcome);
                }
            }
        }
        let Some(hedge) = hedge else { return Poll::Pending };
        let group = this.group.get_or_insert_with(|| Group::boxed(terms(), hedge));
        group.poll(this.first, is_alone, cx, caller, permit)
    }
}

pin_project_lite::pin_project! {
    /// An attempt with its hedges.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Hedged<'a, 'p, B, C, J, T>
    where
        B: Body,
    {
        #[pin]
        race: Race<'a, B::Attempt>,
        begins: Begins<'a, 'p, B, C, J>,
        hedging: &'p Hedging,
        terms: T,
        // As `call_judge`.
        call_terms: fn(&T) -> Terms<'a>,
        permit: Option<&'p mut Permit<'a>>,
    }
}

/// The closures of the call.
struct Begins<'a, 'p, B: Body, C, J> {
    body: B,
    goes_on: C,
    judge: J,
    // Stored instead of required of `J` where the future is polled: for an outcome that borrows,
    // the compiler cannot prove there that the future is `Send`.
    call_judge: Judge<'a, J, <B::Attempt as Future>::Output>,
    report: &'p mut HedgeReport<<B::Attempt as Future>::Output>,
}

type Judge<'a, J, R> = fn(&J, &R, &mut Member<'_, 'a>) -> HedgeOutcome;

impl<'a, B: Body, C: FnMut() -> bool, J> Caller<'a, B::Attempt> for Begins<'a, '_, B, C, J> {
    fn goes_on(&mut self) -> bool {
        (self.goes_on)()
    }

    fn begin(&mut self) -> Option<B::Attempt> {
        Some(self.body.begin())
    }

    fn judge(
        &mut self,
        outcome: &<B::Attempt as Future>::Output,
        member: &mut Member<'_, 'a>,
    ) -> HedgeOutcome {
        (self.call_judge)(&self.judge, outcome, member)
    }

    fn keep(
        &mut self,
        outcome: <B::Attempt as Future>::Output,
        verdict: Decision,
        failure: Option<PastFailure>,
    ) {
        self.report.keep(outcome, verdict, failure);
    }

    fn decide(&mut self, verdict: Option<Decision>) {
        self.report.decide(verdict);
    }
}

impl<'a, 'p, B: Body, C, J, T> Hedged<'a, 'p, B, C, J, T>
where
    C: FnMut() -> bool,
    J: Fn(&<B::Attempt as Future>::Output, &mut Member<'_, 'a>) -> HedgeOutcome,
    T: Fn() -> Terms<'a>,
{
    /// Begins an attempt of a call, whose outcomes `judge` judges. No hedge begins once `goes_on`
    /// returns `false`. When the group has ended, `permit` is the permit of the attempt whose
    /// outcome counts, and `report` holds what the group found out.
    #[inline(always)]
    pub fn new(
        hedging: &'p Hedging,
        body: B,
        goes_on: C,
        judge: J,
        terms: T,
        permit: Option<&'p mut Permit<'a>>,
        report: &'p mut HedgeReport<<B::Attempt as Future>::Output>,
    ) -> Self {
        let race = Race::new(body.begin());
        let call_judge: Judge<'a, J, _> = |judge, outcome, member| judge(outcome, member);
        let begins = Begins { body, goes_on, judge, call_judge, report };
        let call_terms: fn(&T) -> Terms<'a> = |terms| terms();
        Self { race, begins, hedging, terms, call_terms, permit }
    }
}

impl<B: Body, C: FnMut() -> bool, J, T> Future for Hedged<'_, '_, B, C, J, T> {
    type Output = <B::Attempt as Future>::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let terms = || (this.call_terms)(this.terms);
        let permit = this.permit.as_deref_mut();
        this.race.poll(cx, this.hedging.0, terms, this.begins, permit)
    }
}

impl<B: Body, C, J, T> fmt::Debug for Hedged<'_, '_, B, C, J, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hedged").field("hedging", &self.hedging).finish_non_exhaustive()
    }
}
