//! [`HedgedAttempt`]: an attempt that is joined by another one if it does not answer in time.
//!
//! Until the attempt has once returned pending, a hedge costs nothing: no timer, no allocation.

pub(crate) mod race_attempts;
pub(crate) mod race_state;
pub(crate) mod latencies;
pub(crate) mod race_member;
pub(crate) mod report;

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::call::hedge::race_member::RaceMember;
use crate::call::hedge::race_state::{HedgePolicy, RaceContext, RaceDriver, RaceState};
use crate::call::hedge::report::HedgeReport;
use crate::call::verdict::Judgement;
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

pin_project_lite::pin_project! {
    /// An attempt and the hedges that have joined it.
    pub(crate) struct Race<'a, F> {
        // `None` once it has ended while hedges run.
        #[pin]
        first: Option<F>,
        // `None` until the attempt has once returned pending.
        state: Option<Box<RaceState<'a, F>>>,
    }
}

impl<'a, F: Future> Race<'a, F> {
    #[inline(always)]
    pub(crate) const fn new(first: F) -> Self {
        Self { first: Some(first), state: None }
    }

    /// Polls the attempt, and its hedges on behalf of `driver`. Afterwards, `permit` is the permit
    /// of the member whose outcome is returned.
    #[inline]
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        hedge: Option<HedgePolicy>,
        context: impl FnOnce() -> RaceContext<'a>,
        driver: &mut impl RaceDriver<'a, F>,
        permit: Option<&mut Permit<'a>>,
    ) -> Poll<F::Output> {
        let mut this = self.project();
        let is_alone = this.state.is_none();
        if is_alone {
            if let Some(first) = this.first.as_mut().as_pin_mut() {
                if let Poll::Ready(outcome) = first.poll(cx) {
                    return Poll::Ready(outcome);
                }
            }
        }
        let Some(hedge) = hedge else { return Poll::Pending };
        let state = this.state.get_or_insert_with(|| RaceState::boxed(context(), hedge));
        state.poll(this.first, is_alone, cx, driver, permit)
    }
}

pin_project_lite::pin_project! {
    /// An attempt with its hedges.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct HedgedAttempt<'a, 'p, B, C, J, T>
    where
        B: Body,
    {
        #[pin]
        race: Race<'a, B::Attempt>,
        begins: BodyDriver<'a, 'p, B, C, J>,
        hedge: &'p Option<HedgePolicy>,
        context: T,
        // As `call_judge`.
        call_context: fn(&T) -> RaceContext<'a>,
        permit: Option<&'p mut Permit<'a>>,
    }
}

/// The closures of the call.
struct BodyDriver<'a, 'p, B: Body, C, J> {
    body: B,
    goes_on: C,
    judge: J,
    // Stored instead of required of `J` where the future is polled: for an outcome that borrows,
    // the compiler cannot prove there that the future is `Send`.
    call_judge: Judge<'a, J, <B::Attempt as Future>::Output>,
    report: &'p mut HedgeReport<<B::Attempt as Future>::Output>,
}

type Judge<'a, J, R> = fn(&J, &R, &mut RaceMember<'_, 'a>);

impl<'a, B: Body, C: FnMut() -> bool, J> RaceDriver<'a, B::Attempt>
    for BodyDriver<'a, '_, B, C, J>
{
    fn goes_on(&mut self) -> bool {
        (self.goes_on)()
    }

    fn begin(&mut self) -> Option<B::Attempt> {
        Some(self.body.begin())
    }

    fn judge(&mut self, outcome: &<B::Attempt as Future>::Output, member: &mut RaceMember<'_, 'a>) {
        (self.call_judge)(&self.judge, outcome, member);
    }

    fn keep(
        &mut self,
        outcome: <B::Attempt as Future>::Output,
        judgement: Judgement,
        failure: Option<PastFailure>,
    ) {
        self.report.keep(outcome, judgement, failure);
    }

    fn decide(&mut self, outcome: Result<(), Judgement>) {
        self.report.decide(outcome);
    }
}

impl<'a, 'p, B: Body, C, J, T> HedgedAttempt<'a, 'p, B, C, J, T>
where
    C: FnMut() -> bool,
    J: Fn(&<B::Attempt as Future>::Output, &mut RaceMember<'_, 'a>),
    T: Fn() -> RaceContext<'a>,
{
    /// Begins an attempt of a call, whose outcomes `judge` judges. No hedge begins once `goes_on`
    /// returns `false`. When the race has ended, `permit` is the permit of the attempt whose
    /// outcome counts, and `report` holds what the race found out.
    #[inline(always)]
    pub fn new(
        hedge: &'p Option<HedgePolicy>,
        body: B,
        goes_on: C,
        judge: J,
        context: T,
        permit: Option<&'p mut Permit<'a>>,
        report: &'p mut HedgeReport<<B::Attempt as Future>::Output>,
    ) -> Self {
        let race = Race::new(body.begin());
        let call_judge: Judge<'a, J, _> = |judge, outcome, member| judge(outcome, member);
        let begins = BodyDriver { body, goes_on, judge, call_judge, report };
        let call_context: fn(&T) -> RaceContext<'a> = |context| context();
        Self { race, begins, hedge, context, call_context, permit }
    }
}

impl<B: Body, C: FnMut() -> bool, J, T> Future for HedgedAttempt<'_, '_, B, C, J, T> {
    type Output = <B::Attempt as Future>::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let context = || (this.call_context)(this.context);
        let permit = this.permit.as_deref_mut();
        this.race.poll(cx, **this.hedge, context, this.begins, permit)
    }
}

retry_rules::partial_debug!([B: Body, C, J, T] HedgedAttempt<'_, '_, B, C, J, T>, |self| {
    hedge: &self.hedge,
});
