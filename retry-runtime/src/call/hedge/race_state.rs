//! [`RaceState`]: the hedges that have joined an attempt, their admission, and the outcome that
//! counts.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use retry_rules::{Bound, Policy};
use tokio::task::coop::{Unconstrained, has_budget_remaining, unconstrained};

use crate::base::timer::Sleep;
use crate::call::async_sleep;
use crate::call::call_context::CallContext;
use crate::call::hedge::latencies::Latencies;
use crate::call::hedge::race_attempts::RaceAttempts;
use crate::call::hedge::race_member::{Permits, RaceMember};
use crate::call::verdict::Judgement;
use crate::classify::Class;
use crate::event::Event;
use crate::observe;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::{Reservation, RetryQuota};
use crate::site::{Origin, Site};

/// The properties of a call on which its hedges depend.
#[derive(Clone, Copy, Debug)]
pub struct RaceContext<'a> {
    pub(crate) origin: Origin<'a>,
    /// The number of the attempt that is hedged.
    pub(crate) attempt: u32,
    pub(crate) breaker: Option<&'a CircuitBreaker>,
    pub(crate) quota: Option<&'a RetryQuota>,
    pub(crate) attempts: Option<&'a RaceAttempts>,
    /// `true` if the error of the call keeps its failures.
    pub(crate) keeps_failures: bool,
}

impl<'a> RaceContext<'a> {
    /// Creates the context of attempt `attempt` of an annotated function.
    pub fn of(
        site: &'static Site,
        attempt: u32,
        breaker: Option<&'a CircuitBreaker>,
        quota: Option<&'a RetryQuota>,
        attempts: Option<&'a RaceAttempts>,
    ) -> Self {
        let keeps_failures = site.end_options().history > 0;
        Self { origin: site.into(), attempt, breaker, quota, attempts, keeps_failures }
    }
}

/// The delay before a hedge, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub struct HedgePolicy {
    pub(crate) after: Duration,
    pub(crate) max: u32,
}

impl HedgePolicy {
    /// Returns the hedges of the call's effective policy, if it has any.
    #[inline(always)]
    pub fn effective(context: &CallContext<'_>) -> Option<Self> {
        Self::of(&context.effective_policy())
    }

    /// Returns the hedges of this policy, if it has any.
    #[inline]
    pub(crate) fn of(policy: &Policy) -> Option<Self> {
        policy.get_hedge().map(|after| Self { after, max: policy.get_max_hedges() })
    }

    /// Returns hedges after a percentile of the times that the function's attempts take, unless an
    /// override sets a delay or ends the hedges.
    pub fn by_percentile(context: &CallContext<'_>, latencies: &Latencies) -> Option<Self> {
        let policy = context.effective_policy();
        let after = match policy.hedge_bound() {
            Bound::None => latencies.percentile(),
            bound => bound.limit(),
        };
        after.map(|after| Self { after, max: policy.get_max_hedges() })
    }
}

/// The driver of a race: begins attempts and judges their outcomes.
pub(crate) trait RaceDriver<'a, F: Future> {
    /// Returns `false` if the call has been cancelled.
    fn goes_on(&mut self) -> bool;

    /// Begins a hedge, or returns `None` if the operation cannot run twice at once.
    fn begin(&mut self) -> Option<F>;

    /// Judges an outcome, and passes a failure to its `member`. Called at most once for each.
    fn judge(&mut self, outcome: &F::Output, member: &mut RaceMember<'_, 'a>);

    /// Keeps an outcome that would be retried, while the race goes on, and the `failure` for the
    /// history of the call, if it has one.
    fn keep(&mut self, outcome: F::Output, judgement: Judgement, failure: Option<PastFailure>);

    /// Records the judgement on the outcome of the race.
    fn decide(&mut self, outcome: Result<(), Judgement>);
}

/// The hedges of one attempt. On the heap, and only once that attempt has not answered at once.
pub(crate) struct RaceState<'a, F> {
    // Before the permits, because fields are dropped in this order.
    running: Vec<(u32, Pin<Box<F>>)>,
    schedule: Schedule<'a>,
    /// The position of the member that is polled first: 0 for the attempt that is hedged.
    next: usize,
}

/// The part of a race that does not depend on the type of its attempts, and is compiled once.
struct Schedule<'a> {
    context: RaceContext<'a>,
    hedge: HedgePolicy,
    permits: Permits<'a>,
    // Unconstrained: a member that uses up the cooperative budget of the task in each poll would
    // otherwise keep the timer from ever firing.
    sleep: Option<Pin<Box<Unconstrained<Sleep>>>>,
    begun: u32,
}

impl<'a> Schedule<'a> {
    /// Polls the time until the next hedge is due, if there may be another one.
    #[cold]
    #[inline(never)]
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.begun >= self.hedge.max {
            return Poll::Pending;
        }
        let (after, site) = (self.hedge.after, self.context.origin.site);
        let start = || Box::pin(unconstrained(async_sleep::sleep(after, site)));
        ready!(self.sleep.get_or_insert_with(start).as_mut().poll(cx));
        self.sleep = None;
        Poll::Ready(())
    }

    /// Admits the next hedge, if breaker and quota do. Returns its number, and the tokens that it
    /// costs.
    #[cold]
    #[inline(never)]
    fn admit(&mut self) -> Option<(u32, Option<Reservation<'a>>)> {
        let RaceContext { breaker, quota, attempts, .. } = self.context;
        let permit = match breaker {
            // Checked first: a hedge that does not begin is not a rejected call.
            Some(breaker) if breaker.until_admits() != Some(Duration::ZERO) => return None,
            Some(breaker) => Some(breaker.try_acquire().ok()?),
            None => None,
        };
        let cost = match quota {
            Some(quota) => Some(quota.reserve(Class::empty())?),
            None => None,
        };
        let number = self.begun.saturating_add(1);
        if let Some(attempts) = attempts {
            attempts.add(number);
        }
        self.permits.add(number, permit);
        Some((number, cost))
    }

    /// Records that hedge `number` has begun. It keeps its tokens: a hedge that wins was load as
    /// well.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, number: u32, cost: Option<Reservation<'a>>) {
        cost.map(Reservation::spend);
        self.begun = number;
        let RaceContext { origin, attempt, .. } = self.context;
        let (name, after) = (origin.name, self.hedge.after);
        observe::emit_for(origin.site, &Event::Hedged { name, attempt, hedge: number, after });
    }
}

impl<'a, F: Future> RaceState<'a, F> {
    #[cold]
    pub(crate) fn boxed(context: RaceContext<'a>, hedge: HedgePolicy) -> Box<Self> {
        let permits = Permits::new();
        let schedule = Schedule { context, hedge, permits, sleep: None, begun: 0 };
        Box::new(Self { running: Vec::new(), schedule, next: 0 })
    }

    /// Polls the `first` attempt, unless it `is_polled` already, and its hedges, and begins another
    /// hedge when it is due.
    #[cold]
    pub(crate) fn poll(
        &mut self,
        mut first: Pin<&mut Option<F>>,
        mut is_polled: bool,
        cx: &mut Context<'_>,
        driver: &mut impl RaceDriver<'a, F>,
        mut held: Option<&mut Permit<'a>>,
    ) -> Poll<F::Output> {
        loop {
            if !is_polled {
                let (first, held) = (first.as_mut(), &mut held);
                if let Some(outcome) = self.poll_members(first, cx, driver, held) {
                    return Poll::Ready(outcome);
                }
            }
            is_polled = false;
            ready!(self.schedule.poll_due(cx));
            if !self.joined(driver, held.as_deref_mut()) {
                // An open breaker or an empty quota is not queried again and again.
                self.schedule.begun = self.schedule.hedge.max;
            }
        }
    }

    /// Polls each member once; returns the outcome of the race if there is one.
    fn poll_members(
        &mut self,
        mut first: Pin<&mut Option<F>>,
        cx: &mut Context<'_>,
        driver: &mut impl RaceDriver<'a, F>,
        held: &mut Option<&mut Permit<'a>>,
    ) -> Option<F::Output> {
        let mut at = core::mem::take(&mut self.next);
        for _ in 0..=self.running.len() {
            if at > self.running.len() {
                at = 0;
            }
            let number = at.checked_sub(1).map_or(0, |at| self.running[at].0);
            let member = RaceMember::new(number, &mut self.schedule.permits, held.as_deref_mut());
            let polled = match at.checked_sub(1) {
                Some(at) => self.running[at].1.as_mut().poll(cx),
                None => match first.as_mut().as_pin_mut() {
                    Some(first) => first.poll(cx),
                    None => Poll::Pending,
                },
            };
            member.finish();
            if let Poll::Ready(outcome) = polled {
                match at.checked_sub(1) {
                    Some(at) => drop(self.running.remove(at)),
                    None => first.set(None),
                }
                let others_run = first.is_some() || !self.running.is_empty();
                let held = held.as_deref_mut();
                let decided = self.ended(number, outcome, others_run, driver, held);
                if decided.is_some() {
                    return decided;
                }
                if at > 0 {
                    continue;
                }
            } else if self.next == 0 && !has_budget_remaining() {
                // The members after this one were polled without a budget: they go first next time.
                self.next = at + 1;
            }
            at += 1;
        }
        None
    }

    /// Begins a hedge if the call goes on, and breaker and quota admit it.
    fn joined(
        &mut self,
        driver: &mut impl RaceDriver<'a, F>,
        mut held: Option<&mut Permit<'a>>,
    ) -> bool {
        // If the caller's code panics, the permit that the caller holds stays with it.
        let permits = &mut self.schedule.permits;
        let asked = RaceMember::new(permits.holder, permits, held.as_deref_mut());
        let goes_on = driver.goes_on();
        asked.finish();
        if !goes_on {
            return false;
        }
        let Some((number, cost)) = self.schedule.admit() else { return false };
        let member = RaceMember::new(number, &mut self.schedule.permits, held.as_deref_mut());
        let begun = driver.begin();
        member.finish();
        let Some(joining) = begun else {
            drop(self.schedule.permits.take(number, held));
            return false;
        };
        self.schedule.begin(number, cost);
        self.running.push((number, Box::pin(joining)));
        // It begins before another member can end, whose failure may hold all calls.
        self.next = self.running.len();
        true
    }

    /// Handles the end of member `number`; returns its outcome if it is the outcome of the race.
    fn ended(
        &mut self,
        number: u32,
        outcome: F::Output,
        others_run: bool,
        driver: &mut impl RaceDriver<'a, F>,
        mut held: Option<&mut Permit<'a>>,
    ) -> Option<F::Output> {
        let RaceContext { origin, attempts, attempt, keeps_failures, .. } = self.schedule.context;
        if let Some(attempts) = attempts {
            attempts.ended(number);
        }
        // Without hedges, the driver judges the outcome itself.
        if others_run || number > 0 {
            let held = held.as_deref_mut();
            let mut member = RaceMember::new(number, &mut self.schedule.permits, held);
            member.attempts = attempts;
            member.others_run = others_run;
            member.kept_as = keeps_failures.then_some(attempt);
            driver.judge(&outcome, &mut member);
            match member.finish() {
                (Some(judgement), failure) if others_run && judgement.allows_retry() => {
                    driver.keep(outcome, judgement, failure);
                    return None;
                }
                (judgement, _) => {
                    driver.decide(judgement.map_or(Ok(()), Err));
                    if judgement.is_none() && number > 0 {
                        let won = Event::HedgeWon { name: origin.name, attempt, hedge: number };
                        observe::emit_for(origin.site, &won);
                    }
                }
            }
        }
        self.schedule.permits.hand_over(number, held);
        Some(outcome)
    }
}
