//! [`Race`]: the hedges that have joined an attempt, their admission, and the outcome that counts.
//!
//! It is compiled for no closure: what a race is about is behind [`Members`].

use core::mem;
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
use crate::call::verdict::{Judgement, Verdict};
use crate::classify::Class;
use crate::event::Event;
use crate::observe;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::{Reservation, RetryQuota};
use crate::site::{Origin, Site};

/// The members of a race, each in a slot: an attempt in slot 0, and the hedges that have joined it
/// in the slots after it. The outcome of the member that has ended last is in hand.
pub(crate) trait Members {
    /// Returns `false` if the call has been cancelled, so that no hedge may join.
    fn may_join(&mut self) -> bool {
        true
    }

    /// Begins a hedge in the slot after the last one. Returns `false` if there cannot be one.
    fn join(&mut self) -> bool;

    /// Polls the member in this slot. When it is ready, its slot is removed, and its outcome is in
    /// hand.
    fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<()>;

    /// Passes the verdict on the outcome in hand, if that is a failure.
    fn judge(&mut self, with: &mut dyn FnMut(Verdict<'_>));

    /// Keeps the outcome in hand, in place of the one that was kept before.
    fn keep(&mut self);
}

/// The properties of a call on which its hedges depend.
#[derive(Clone, Copy)]
pub struct RaceContext<'a, 'r> {
    pub(crate) origin: Origin<'a>,
    /// The number of the attempt that is hedged.
    pub(crate) attempt: u32,
    pub(crate) breaker: Option<&'r CircuitBreaker>,
    pub(crate) quota: Option<&'r RetryQuota>,
    pub(crate) attempts: Option<&'a RaceAttempts>,
    /// `true` if the error of the call keeps its failures.
    pub(crate) keeps_failures: bool,
}

/// The delay before a hedge, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub struct HedgePolicy {
    after: Duration,
    max: u32,
}

impl HedgePolicy {
    /// Returns the hedges of this policy, if it has any.
    #[inline]
    pub(crate) fn of(policy: &Policy) -> Option<Self> {
        policy.get_hedge().map(|after| Self { after, max: policy.get_max_hedges() })
    }
}

impl CallContext<'_> {
    /// Returns the hedges of the call's effective policy, if it has any.
    #[inline(always)]
    pub fn hedge(&self) -> Option<HedgePolicy> {
        HedgePolicy::of(&self.effective_policy())
    }

    /// Returns hedges after a percentile of the times that the function's attempts take, unless an
    /// override sets a delay or ends the hedges.
    pub fn hedge_by_percentile(&self, latencies: &Latencies) -> Option<HedgePolicy> {
        let policy = self.effective_policy();
        let after = match policy.hedge_bound() {
            Bound::None => latencies.percentile(),
            bound => bound.limit(),
        };
        after.map(|after| HedgePolicy { after, max: policy.get_max_hedges() })
    }
}

/// The findings of a race about the members that ended before it, and would be retried.
pub(crate) struct Losers {
    /// The judgement on the last one, whose outcome is kept.
    last: Judgement,
    /// The longest waits of all of them.
    longest: Judgement,
    /// Their failures, if the error of the call keeps them.
    past: Vec<PastFailure>,
}

impl Losers {
    /// Extends the wait that follows a failure to the longest one that any member asked for, and
    /// adds the failures of the other members.
    pub(crate) fn extend<'v>(&'v self, verdict: &mut Verdict<'v>) {
        verdict.judgement.extend(&self.longest);
        verdict.past = &self.past;
    }
}

/// The hedges of one attempt. On the heap, and only once that attempt has not answered at once.
pub(crate) struct Race<'r> {
    /// Set while the attempt in slot 0 runs.
    first_runs: bool,
    /// The numbers and the permits of the hedges that run, by slot.
    running: Vec<(u32, Option<Permit<'r>>)>,
    /// The number of hedges that have begun.
    begun: u32,
    /// The slot that is polled first.
    next: usize,
    // Unconstrained: a member that uses up the cooperative budget of the task in each poll would
    // otherwise keep the timer from ever firing.
    sleep: Option<Pin<Box<Unconstrained<Sleep>>>>,
    /// The judgement on the outcome of the race: a success, or a failure. `None` if the race did not
    /// judge it, because no hedge had joined.
    outcome: Option<Result<(), Judgement>>,
    losers: Option<Box<Losers>>,
}

/// A member while its code runs. If that panics, it alone has failed: its permit is dropped during
/// the panic, and the others are returned without a report.
struct Member<'m, 'r> {
    own: Option<Permit<'r>>,
    first: &'m mut Option<Permit<'r>>,
    others: &'m mut Vec<(u32, Option<Permit<'r>>)>,
}

impl<'r> Member<'_, 'r> {
    /// Its code has returned.
    fn returned(mut self) -> Option<Permit<'r>> {
        let own = self.own.take();
        mem::forget(self);
        own
    }
}

impl Drop for Member<'_, '_> {
    #[cold]
    fn drop(&mut self) {
        let others = self.others.drain(..).filter_map(|(_, permit)| permit);
        self.first.take().into_iter().chain(others).for_each(Permit::forgive);
    }
}

impl<'r> Race<'r> {
    pub(crate) const fn new() -> Self {
        Self {
            first_runs: true,
            running: Vec::new(),
            begun: 0,
            next: 0,
            sleep: None,
            outcome: None,
            losers: None,
        }
    }

    #[cold]
    pub(crate) fn boxed() -> Box<Self> {
        Box::new(Self::new())
    }

    /// Returns the judgement on the outcome of the race, if it judged that.
    pub(crate) fn outcome(&self) -> Option<Result<(), Judgement>> {
        self.outcome
    }

    /// Returns the findings about the members that ended before the race.
    pub(crate) fn losers(&self) -> Option<&Losers> {
        self.losers.as_deref()
    }

    /// Ends a race whose members were dropped: returns all permits but the permit of its outcome.
    pub(crate) fn end(&mut self) {
        self.running.clear();
    }

    /// Ends a race that a time limit has ended, and whose members were dropped. Returns the judgement on
    /// the outcome that was kept, if that is its outcome. `permit` is then the permit of a member.
    #[cold]
    pub(crate) fn timed_out(&mut self, permit: &mut Option<Permit<'r>>) -> Option<Judgement> {
        if permit.is_none() {
            *permit = self.running.pop().and_then(|(_, permit)| permit);
        }
        self.end();
        let losers = self.losers.as_mut()?;
        // It is the outcome of the race.
        losers.past.pop();
        self.outcome = Some(Err(losers.last));
        Some(losers.last)
    }

    /// Polls the members, unless the first one `is_polled` already, and begins another hedge when it
    /// is due. `permit` belongs to the first member, and at the end to the outcome in hand.
    #[cold]
    pub(crate) fn poll<M: Members + ?Sized>(
        &mut self,
        members: &mut M,
        hedge: HedgePolicy,
        context: &RaceContext<'_, 'r>,
        permit: &mut Option<Permit<'r>>,
        mut is_polled: bool,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            if !is_polled && self.poll_members(members, context, permit, cx) {
                return Poll::Ready(());
            }
            is_polled = false;
            ready!(self.poll_due(hedge, context.origin.site, cx));
            if !self.joined(members, hedge, context, permit) {
                // An open breaker or an empty quota is not queried again and again.
                self.begun = hedge.max;
            }
        }
    }

    /// Polls the time until the next hedge is due, if there may be another one.
    #[inline(never)]
    fn poll_due(
        &mut self,
        hedge: HedgePolicy,
        site: Option<&'static Site>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.begun >= hedge.max {
            return Poll::Pending;
        }
        let start = || Box::pin(unconstrained(async_sleep::sleep(hedge.after, site)));
        ready!(self.sleep.get_or_insert_with(start).as_mut().poll(cx));
        self.sleep = None;
        Poll::Ready(())
    }

    /// Polls each member once; returns whether the race has ended.
    fn poll_members<M: Members + ?Sized>(
        &mut self,
        members: &mut M,
        context: &RaceContext<'_, 'r>,
        permit: &mut Option<Permit<'r>>,
        cx: &mut Context<'_>,
    ) -> bool {
        let mut slot = mem::take(&mut self.next);
        for _ in 0..=self.running.len() {
            if slot > self.running.len() {
                slot = 0;
            }
            if slot == 0 && !self.first_runs {
                slot = 1;
                continue;
            }
            let held = match slot.checked_sub(1) {
                Some(hedge) => &mut self.running[hedge].1,
                None => &mut *permit,
            };
            let own = held.take();
            let member = Member { own, first: permit, others: &mut self.running };
            let is_ready = members.poll(slot, cx).is_ready();
            let own = member.returned();
            if !is_ready {
                match slot.checked_sub(1) {
                    Some(hedge) => self.running[hedge].1 = own,
                    None => *permit = own,
                }
                if self.next == 0 && !has_budget_remaining() {
                    // The members after this one were polled without a budget: they go first next
                    // time.
                    self.next = slot + 1;
                }
                slot += 1;
                continue;
            }
            let number = match slot.checked_sub(1) {
                Some(hedge) => self.running.remove(hedge).0,
                None => {
                    self.first_runs = false;
                    0
                }
            };
            if self.ended(number, own, members, context, permit) {
                return true;
            }
            slot = slot.max(1);
        }
        false
    }

    /// Handles the end of member `number`; returns whether the race has ended with it.
    fn ended<M: Members + ?Sized>(
        &mut self,
        number: u32,
        own: Option<Permit<'r>>,
        members: &mut M,
        context: &RaceContext<'_, 'r>,
        permit: &mut Option<Permit<'r>>,
    ) -> bool {
        if let Some(attempts) = context.attempts {
            attempts.ended(number);
        }
        let others_run = self.first_runs || !self.running.is_empty();
        // Without hedges, the driver of the call judges the outcome.
        if !others_run && number == 0 {
            *permit = own;
            return true;
        }
        let (mut outcome, mut is_lost) = (Ok(()), false);
        let losers = &mut self.losers;
        let mut member = Member { own, first: permit, others: &mut self.running };
        members.judge(&mut |verdict| {
            let verdict = match context.attempts.and_then(|attempts| attempts.get(number)) {
                Some(attempt) => verdict.ruled_by(attempt),
                None => verdict,
            };
            let judgement = verdict.judgement;
            outcome = Err(judgement);
            if others_run && judgement.allows_retry() {
                is_lost = true;
                if let Some(permit) = member.own.take() {
                    verdict.report(permit);
                }
                let class = judgement.class;
                let past = || PastFailure::new(context.attempt, &verdict.error, class, None);
                lose(losers, judgement, context.keeps_failures.then(past));
            }
        });
        let own = member.returned();
        if is_lost {
            members.keep();
            return false;
        }
        // The permits of the others are returned once these have been dropped.
        let first = mem::replace(permit, own);
        self.running.push((0, first));
        self.outcome = Some(outcome);
        if outcome.is_ok() && number > 0 {
            let RaceContext { origin, attempt, .. } = *context;
            let won = Event::HedgeWon { name: origin.name, attempt, hedge: number };
            observe::emit_for(origin.site, &won);
        }
        true
    }

    /// Begins a hedge if the call goes on, and breaker, quota and operation allow it.
    fn joined<M: Members + ?Sized>(
        &mut self,
        members: &mut M,
        hedge: HedgePolicy,
        context: &RaceContext<'_, 'r>,
        permit: &mut Option<Permit<'r>>,
    ) -> bool {
        let own = permit.take();
        let member = Member { own, first: permit, others: &mut self.running };
        let may_join = members.may_join();
        *permit = member.returned();
        if !may_join {
            return false;
        }
        let RaceContext { origin, attempt, breaker, quota, attempts, .. } = *context;
        let Some((own, cost)) = admit(breaker, quota) else { return false };
        let number = self.begun.saturating_add(1);
        if let Some(attempts) = attempts {
            attempts.add(number);
        }
        let member = Member { own, first: permit, others: &mut self.running };
        let has_begun = members.join();
        let own = member.returned();
        if !has_begun {
            return false;
        }
        // It keeps its tokens: a hedge that wins was load as well.
        cost.map(Reservation::spend);
        self.begun = number;
        let (name, after) = (origin.name, hedge.after);
        observe::emit_for(origin.site, &Event::Hedged { name, attempt, hedge: number, after });
        self.running.push((number, own));
        // It begins before another member can end, whose failure may hold all calls.
        self.next = self.running.len();
        true
    }
}

/// Adds a failure to the findings about the losers.
#[cold]
fn lose(losers: &mut Option<Box<Losers>>, judgement: Judgement, past: Option<PastFailure>) {
    let losers = losers.get_or_insert_with(|| {
        Box::new(Losers { last: judgement, longest: Judgement::VALUE, past: Vec::new() })
    });
    losers.last = judgement;
    losers.longest.extend(&judgement);
    losers.longest.others_count |= !judgement.class.intersects(judgement.uncounted);
    losers.past.extend(past);
}

/// Admits a hedge, if breaker and quota do. Returns its permit, and the tokens that it costs.
fn admit<'r>(
    breaker: Option<&'r CircuitBreaker>,
    quota: Option<&'r RetryQuota>,
) -> Option<(Option<Permit<'r>>, Option<Reservation<'r>>)> {
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
    Some((permit, cost))
}
