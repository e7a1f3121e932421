//! [`HedgedAttempt`]: an attempt that is joined by another one if it does not answer in time.
//!
//! Until the attempt has once returned pending, a hedge costs nothing: no timer, no allocation.

pub(crate) mod race;
pub(crate) mod race_attempts;
pub(crate) mod running;
pub(crate) mod latencies;

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::call::hedge::race::{HedgePolicy, Members, Race, RaceContext};
use crate::call::hedge::running::Running;
use crate::call::verdict::Verdict;
use crate::classify::probe::ErrorDisplay;
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

/// The hedges of an attempt. Empty, and without an allocation, until the attempt has once returned
/// pending.
pub struct Hedges<'a, R, K> {
    race: Option<Box<BodyRace<'a, R>>>,
    /// The failure of an earlier attempt. Once a member has failed, the call cannot end with it.
    pub(crate) earlier: K,
}

/// A race, and the outcome of a member that failed while others ran.
struct BodyRace<'a, R> {
    race: Race<'a>,
    kept: Option<R>,
}

impl<'a, R, K> Hedges<'a, R, K> {
    /// No hedge has begun yet.
    #[inline(always)]
    pub(crate) const fn after(earlier: K) -> Self {
        Self { race: None, earlier }
    }

    /// Returns whether the outcome of the race is a failure, or `None` if the race did not judge
    /// it.
    #[inline]
    pub fn has_failed(&self) -> Option<bool> {
        Some(self.race.as_ref()?.race.outcome()?.is_err())
    }

    /// Returns the verdict on the outcome of the race, which events show as `error`, if the race
    /// judged it to be a failure. Matchers, which may have state, are thereby called once for each
    /// outcome.
    #[inline]
    pub fn verdict<'e>(&self, error: ErrorDisplay<'e>) -> Option<Verdict<'e>> {
        Some(self.race.as_ref()?.race.outcome()?.err()?.on(error))
    }

    /// Extends the wait that follows a failure to the longest one that any member asked for, and
    /// adds the failures of the other members.
    #[inline]
    pub fn extend<'v>(&'v self, verdict: &mut Verdict<'v>) {
        if let Some(losers) = self.race.as_ref().and_then(|race| race.race.losers()) {
            losers.extend(verdict);
        }
    }

    /// Takes the outcome of a race that a time limit has ended, if a member of it failed before.
    /// `permit` is then the permit of a member.
    #[cold]
    pub(crate) fn timed_out(&mut self, permit: Option<&mut Option<Permit<'a>>>) -> Option<R> {
        let BodyRace { race, kept } = &mut **self.race.as_mut()?;
        race.timed_out(permit.unwrap_or(&mut None))?;
        kept.take()
    }
}

pin_project_lite::pin_project! {
    /// An attempt with its hedges.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct HedgedAttempt<'a, 'p, B, C, J, T, K>
    where
        B: Body,
    {
        // `None` once it has ended while hedges run.
        #[pin]
        first: Option<B::Attempt>,
        running: Running<B::Attempt>,
        calls: BodyCalls<B, C, J>,
        hedges: &'p mut Hedges<'a, <B::Attempt as Future>::Output, K>,
        hedge: &'p Option<HedgePolicy>,
        context: T,
        // As `BodyCalls::call_judge`.
        call_context: fn(&T) -> RaceContext<'a, 'a>,
        permit: Option<&'p mut Option<Permit<'a>>>,
    }
}

/// The closures of the call.
struct BodyCalls<B: Body, C, J> {
    body: B,
    goes_on: C,
    judge: J,
    // Stored instead of required of `J` where the future is polled: for an outcome that borrows,
    // the compiler cannot prove there that the future is `Send`.
    call_judge: Judge<J, <B::Attempt as Future>::Output>,
}

type Judge<J, R> = fn(&J, &R, &mut dyn FnMut(Verdict<'_>));

/// The members of a race of bodies, while it is polled.
struct BodyMembers<'m, B: Body, C, J, K> {
    calls: &'m mut BodyCalls<B, C, J>,
    first: Pin<&'m mut Option<B::Attempt>>,
    running: &'m mut Running<B::Attempt>,
    in_hand: Option<<B::Attempt as Future>::Output>,
    kept: &'m mut Option<<B::Attempt as Future>::Output>,
    earlier: &'m mut K,
}

impl<B: Body, C: FnMut() -> bool, J, K: Default> Members for BodyMembers<'_, B, C, J, K> {
    fn may_join(&mut self) -> bool {
        (self.calls.goes_on)()
    }

    fn join(&mut self) -> bool {
        self.running.join(self.calls.body.begin());
        true
    }

    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<()> {
        let hedge = slot.checked_sub(1);
        let running = match hedge {
            Some(hedge) => self.running.at(hedge),
            None => self.first.as_mut().as_pin_mut(),
        };
        let Some(running) = running else { return Poll::Pending };
        let output = ready!(running.poll(cx));
        match hedge {
            Some(hedge) => self.running.remove(hedge),
            None => self.first.set(None),
        }
        self.in_hand = Some(output);
        Poll::Ready(())
    }

    fn judge(&mut self, with: &mut dyn FnMut(Verdict<'_>)) {
        if let Some(outcome) = &self.in_hand {
            (self.calls.call_judge)(&self.calls.judge, outcome, with);
        }
    }

    fn keep(&mut self) {
        *self.earlier = K::default();
        *self.kept = self.in_hand.take();
    }
}

impl<'a, 'p, B: Body, C, J, T, K> HedgedAttempt<'a, 'p, B, C, J, T, K>
where
    C: FnMut() -> bool,
    J: Fn(&<B::Attempt as Future>::Output, &mut dyn FnMut(Verdict<'_>)),
    T: Fn() -> RaceContext<'a, 'a>,
{
    /// Begins an attempt of a call, for whose outcomes `judge` passes a verdict if they are failures.
    /// No hedge begins once `goes_on` returns `false`. When the race has ended, `permit` is the
    /// permit of the attempt whose outcome counts, and `hedges` holds the findings of the race.
    #[inline(always)]
    pub fn new(
        hedge: &'p Option<HedgePolicy>,
        body: B,
        goes_on: C,
        judge: J,
        context: T,
        permit: Option<&'p mut Option<Permit<'a>>>,
        hedges: &'p mut Hedges<'a, <B::Attempt as Future>::Output, K>,
    ) -> Self {
        let (first, running) = (Some(body.begin()), Running::none());
        let call_judge: Judge<J, _> = |judge, outcome, with| judge(outcome, with);
        let calls = BodyCalls { body, goes_on, judge, call_judge };
        let call_context: fn(&T) -> RaceContext<'a, 'a> = |context| context();
        Self { first, running, calls, hedges, hedge, context, call_context, permit }
    }
}

impl<B, C, J, T, K> Future for HedgedAttempt<'_, '_, B, C, J, T, K>
where
    B: Body,
    C: FnMut() -> bool,
    K: Default,
{
    type Output = <B::Attempt as Future>::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let is_alone = this.hedges.race.is_none();
        if is_alone {
            if let Some(first) = this.first.as_mut().as_pin_mut() {
                if let Poll::Ready(outcome) = first.poll(cx) {
                    return Poll::Ready(outcome);
                }
            }
        }
        let Some(hedge) = **this.hedge else { return Poll::Pending };
        let Hedges { race, earlier } = &mut **this.hedges;
        let begun = || Box::new(BodyRace { race: Race::new(), kept: None });
        let BodyRace { race, kept } = &mut **race.get_or_insert_with(begun);
        let (first, running) = (this.first.as_mut(), &mut *this.running);
        let calls = &mut *this.calls;
        let mut members = BodyMembers { calls, first, running, in_hand: None, kept, earlier };
        let (context, mut none) = ((this.call_context)(this.context), None);
        let permit = this.permit.as_deref_mut().unwrap_or(&mut none);
        ready!(race.poll::<dyn Members>(&mut members, hedge, &context, permit, is_alone, cx));
        let Some(outcome) = members.in_hand else { unreachable!("a race ends with an outcome") };
        // The other members are dropped before their permits are returned.
        this.first.set(None);
        *this.running = Running::none();
        race.end();
        Poll::Ready(outcome)
    }
}
