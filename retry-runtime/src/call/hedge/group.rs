//! The hedges that have joined an attempt, what admits them, and which outcome counts.

use core::fmt;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use retry_rules::Policy;

use crate::base::timer::Sleep;
use crate::call::async_sleep;
use crate::call::hedge::contexts::Contexts;
use crate::call::session::Verdict;
use crate::classify::Class;
use crate::observe;
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::{Reservation, RetryQuota};
use crate::site::{Origin, Site};

/// What an outcome means for the other attempts of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It is the outcome of the attempt, and the others are dropped.
    Success,
    /// It is a failure that no other attempt would mend: likewise.
    Final,
    /// It is a failure that would be retried: the others may still succeed.
    Retried,
}

/// An attempt whose outcome is judged.
pub struct Member<'a> {
    number: u32,
    contexts: Option<&'a Contexts>,
    /// Its permit, if others run: otherwise the caller reports.
    permit: Option<Permit<'a>>,
}

impl Member<'_> {
    /// The verdict, unless the attempt itself ruled on its failure.
    #[must_use]
    pub fn rules<'v>(&self, verdict: Verdict<'v>) -> Verdict<'v> {
        match self.contexts.and_then(|contexts| contexts.get(self.number)) {
            Some(attempt) => verdict.ruled_by(attempt),
            None => verdict,
        }
    }

    /// What a failure with this verdict means. If others run, the breaker hears of it now.
    pub fn failed(&mut self, verdict: &Verdict<'_>) -> Judged {
        if !verdict.retry {
            return Judged::Final;
        }
        if let Some(permit) = self.permit.take() {
            verdict.report(permit);
        }
        Judged::Retried
    }
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("number", &self.number).finish_non_exhaustive()
    }
}

/// What a group needs to know about its call.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    pub(crate) origin: Origin<'a>,
    /// The number of the attempt that is hedged.
    pub(crate) attempt: u32,
    pub(crate) breaker: Option<&'a CircuitBreaker>,
    pub(crate) quota: Option<&'a RetryQuota>,
    pub(crate) contexts: Option<&'a Contexts>,
}

impl<'a> Terms<'a> {
    /// Those of attempt `attempt` of an annotated function.
    pub fn of(
        site: &'static Site,
        attempt: u32,
        breaker: Option<&'a CircuitBreaker>,
        quota: Option<&'a RetryQuota>,
        contexts: Option<&'a Contexts>,
    ) -> Self {
        Self { origin: site.into(), attempt, breaker, quota, contexts }
    }
}

/// When attempts are hedged, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hedge {
    pub(crate) after: Duration,
    pub(crate) max: u32,
}

impl Hedge {
    /// The hedges of this policy, if it has any.
    #[inline]
    pub(crate) fn of(policy: &Policy) -> Option<Self> {
        policy.get_hedge().map(|after| Self { after, max: policy.get_max_hedges() })
    }
}

/// What begins attempts and judges their outcomes.
pub(crate) trait Caller<'a, F: Future> {
    /// Returns `false` if the call has been cancelled.
    fn goes_on(&mut self) -> bool;

    /// Begins a hedge, or returns `None` if what is called cannot be called twice at once.
    fn begin(&mut self) -> Option<F>;

    /// Judges an outcome.
    fn judge(&mut self, outcome: &F::Output, member: &mut Member<'a>) -> Judged;
}

/// The hedges of one attempt. On the heap, and only once that attempt has not answered at once.
pub(crate) struct Group<'a, F> {
    terms: Terms<'a>,
    hedge: Hedge,
    // Before the permits, because they are dropped in this order.
    running: Vec<(u32, Pin<Box<F>>)>,
    /// The permits of all attempts that run, except for the one that the caller holds.
    permits: Vec<(u32, Permit<'a>)>,
    sleep: Option<Pin<Box<Sleep>>>,
    begun: u32,
    /// Whose permit the caller holds.
    held: u32,
    is_first_running: bool,
}

impl<'a, F: Future> Group<'a, F> {
    #[cold]
    pub(crate) fn boxed(terms: Terms<'a>, hedge: Hedge) -> Box<Self> {
        Box::new(Self {
            terms,
            hedge,
            running: Vec::new(),
            permits: Vec::new(),
            sleep: None,
            begun: 0,
            held: 0,
            is_first_running: true,
        })
    }

    /// The attempt that is hedged has ended; returns its outcome if it is that of the group.
    #[cold]
    pub(crate) fn first_ended(
        &mut self,
        outcome: F::Output,
        caller: &mut impl Caller<'a, F>,
        held: Option<&mut Permit<'a>>,
    ) -> Option<F::Output> {
        self.is_first_running = false;
        self.ended(0, outcome, caller, held)
    }

    /// Polls the hedges, and begins another one when it is time.
    #[cold]
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        caller: &mut impl Caller<'a, F>,
        mut held: Option<&mut Permit<'a>>,
    ) -> Poll<F::Output> {
        loop {
            let mut at = 0;
            while let Some((number, attempt)) = self.running.get_mut(at) {
                let Poll::Ready(outcome) = attempt.as_mut().poll(cx) else {
                    at += 1;
                    continue;
                };
                let number = *number;
                drop(self.running.remove(at));
                if let Some(outcome) = self.ended(number, outcome, caller, held.as_deref_mut()) {
                    return Poll::Ready(outcome);
                }
            }
            if self.begun >= self.hedge.max {
                return Poll::Pending;
            }
            let (after, site) = (self.hedge.after, self.terms.origin.site);
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(async_sleep::sleep(after, site)));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
            if !self.joined(caller) {
                // An open breaker or an empty quota is no reason to ask again and again.
                self.begun = self.hedge.max;
            }
        }
    }

    /// Begins a hedge if the call goes on, and breaker and quota admit it.
    fn joined(&mut self, caller: &mut impl Caller<'a, F>) -> bool {
        let Terms { origin, attempt, breaker, quota, contexts } = self.terms;
        if !caller.goes_on() {
            return false;
        }
        let permit = match breaker {
            // Looked at first: a hedge that is not made is no rejected call.
            Some(breaker) if breaker.until_admits() != Some(Duration::ZERO) => return false,
            Some(breaker) => match breaker.try_acquire() {
                Ok(permit) => Some(permit),
                Err(_) => return false,
            },
            None => None,
        };
        let cost = match quota {
            Some(quota) => match quota.reserve(Class::empty()) {
                Some(reservation) => Some(reservation),
                None => return false,
            },
            None => None,
        };
        let number = self.begun.saturating_add(1);
        if let Some(contexts) = contexts {
            contexts.begins(number);
        }
        let Some(joining) = caller.begin() else { return false };
        // For good: a hedge that wins was load as well.
        cost.map(Reservation::spend);
        self.begun = number;
        self.permits.extend(permit.map(|permit| (number, permit)));
        observe::hedged(origin, attempt, number, self.hedge.after);
        self.running.push((number, Box::pin(joining)));
        true
    }

    /// An attempt has ended; returns its outcome if it is that of the group.
    fn ended(
        &mut self,
        number: u32,
        outcome: F::Output,
        caller: &mut impl Caller<'a, F>,
        mut held: Option<&mut Permit<'a>>,
    ) -> Option<F::Output> {
        let others_run = self.is_first_running || !self.running.is_empty();
        let permit = self.permit_of(number, held.as_deref_mut());
        let contexts = self.terms.contexts;
        let mut member = Member { number, contexts, permit: None };
        if others_run {
            member.permit = permit;
        } else {
            self.hand_over(number, permit, held.as_deref_mut());
        }
        // The caller's matchers are not asked in vain: they judge the outcome of the group again.
        let judged = (others_run || number > 0).then(|| caller.judge(&outcome, &mut member));
        if judged == Some(Judged::Retried) && others_run {
            return None;
        }
        self.hand_over(number, member.permit, held);
        if let Some(contexts) = contexts {
            contexts.ended(number);
        }
        if judged == Some(Judged::Success) && number > 0 {
            observe::hedge_won(self.terms.origin, self.terms.attempt, number);
        }
        Some(outcome)
    }

    /// Takes the permit of an attempt that has ended. If the caller holds it and others run, it holds
    /// that of another one from now on.
    fn permit_of(&mut self, number: u32, held: Option<&mut Permit<'a>>) -> Option<Permit<'a>> {
        if self.held != number {
            let at = self.permits.iter().position(|(of, _)| *of == number)?;
            return Some(self.permits.swap_remove(at).1);
        }
        let (other, permit) = self.permits.pop()?;
        self.held = other;
        held.map(|held| mem::replace(held, permit))
    }

    /// Lets the caller hold the permit of the attempt whose outcome is that of the group.
    fn hand_over(
        &mut self,
        number: u32,
        permit: Option<Permit<'a>>,
        held: Option<&mut Permit<'a>>,
    ) {
        if let (Some(permit), Some(held)) = (permit, held) {
            let other = mem::replace(held, permit);
            self.permits.push((self.held, other));
            self.held = number;
        }
    }
}

impl<F> fmt::Debug for Group<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("begun", &self.begun).finish_non_exhaustive()
    }
}
