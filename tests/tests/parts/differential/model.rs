//! The naive model of a call, written after the rules of the documentation.
//!
//! It has no futures, locks or clocks. Times are milliseconds since the script began, and each step
//! handles the earliest event.

use std::collections::VecDeque;
use std::time::Duration;

use retry_runtime::{Policy, Reason, State};

use super::script::{ASKED_WAIT, Kind, Matching, Opens, Outcome, Protection, Script, ms, text_of};
use super::world::{BreakerSeen, CallResult, Ended, Last};

type Millis = u64;

fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).expect("scripts are short")
}

/// The results that the model expects of a script.
pub(super) struct Expected {
    pub(super) calls: Vec<Ended>,
    /// The retries that the share still allows at the end; `None` without a share, or if the count
    /// depends on where a second begins.
    pub(super) share_left: Option<usize>,
    /// Two events fall on the same time, and no rule orders them.
    pub(super) has_ties: bool,
    /// No rule determines the result. Every way in must still do the same.
    pub(super) is_unspecified: bool,
}

/// The end of a call that returns nothing.
enum Stop {
    Dropped,
    Panicked,
}

/// The limit that cut an attempt off.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Timeout,
    Deadline,
}

/// A failed attempt and its verdict.
#[derive(Clone)]
struct Failure {
    last: Last,
    /// The value, if a value failed.
    value: Option<u32>,
    is_retried: bool,
    /// `true` if the breaker counts it as a failure.
    counts: bool,
    asks_for: Option<Millis>,
    charge: Charge,
}

/// The cost of a retry after a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Charge {
    Ordinary,
    Timeout,
    Throttling,
}

/// A running attempt: the first one of a group, or a hedge.
struct Member {
    ends: Option<Millis>,
    outcome: Outcome,
    permit: Option<Permit>,
}

/// The end of an attempt with its hedges.
enum GroupEnd {
    Success(u32, Option<Permit>),
    Failure { failure: Failure, permit: Option<Permit>, cut: Option<Cut> },
}

pub(super) struct Model<'s> {
    script: &'s Script,
    policy: Policy,
    now: Millis,
    begun: Vec<Millis>,
    judged: u32,
    breaker: Breaker,
    tokens: u32,
    /// The times of retries and hedges.
    retries: Vec<Millis>,
    others: VecDeque<Millis>,
    gives_up_at: Millis,
    has_ties: bool,
    is_unspecified: bool,
}

pub(super) fn expected(script: &Script) -> Expected {
    let mut model = Model::new(script);
    let calls: Vec<_> = script.calls.iter().map(|call| model.play(*call)).collect();
    let share_left = model.share_left();
    let Model { has_ties, is_unspecified, .. } = model;
    Expected { calls, share_left, has_ties, is_unspecified }
}

impl<'s> Model<'s> {
    fn new(script: &'s Script) -> Self {
        Self {
            script,
            policy: script.policy(),
            now: 0,
            begun: Vec::new(),
            judged: 0,
            breaker: Breaker::new(script.protected()),
            tokens: script.protected().tokens,
            retries: Vec::new(),
            others: script.others.iter().map(|at| millis(*at)).collect(),
            gives_up_at: Millis::MAX,
            has_ties: false,
            is_unspecified: false,
        }
    }

    fn is_guarded(&self) -> bool {
        self.script.protection.is_some()
    }

    fn play(&mut self, call: super::script::Call) -> Ended {
        let _never = self.advance(self.now + millis(call.pause));
        self.gives_up_at = self.now + millis(call.patience);
        let result = match self.call() {
            Ok(result) => result,
            Err(Stop::Dropped) => CallResult::Dropped,
            Err(Stop::Panicked) => CallResult::Panicked,
        };
        self.gives_up_at = Millis::MAX;
        Ended {
            result,
            at: ms(self.now),
            attempts: self.begun.iter().map(|at| ms(*at)).collect(),
            judged: self.judged,
            running: 0,
            tokens: self.tokens,
            breaker: self.breaker.seen(self.now),
        }
    }

    /// Advances the time, and makes the failing calls of other callers.
    fn advance(&mut self, to: Millis) -> Result<(), Stop> {
        let at = to.min(self.gives_up_at);
        self.has_ties |= to == self.gives_up_at;
        while let Some(other) = self.others.front().copied().filter(|other| *other <= at) {
            self.has_ties |= other == at;
            self.others.pop_front();
            if let Some(permit) = self.breaker.admit(other) {
                self.breaker.report(permit, other, Report::Failure);
            }
        }
        self.now = at;
        if to > at { Err(Stop::Dropped) } else { Ok(()) }
    }

    fn call(&mut self) -> Result<CallResult, Stop> {
        let began = self.now;
        let (mut made, mut waited) = (0_u32, 0);
        let mut before: Option<Failure> = None;
        let mut cost = 0;
        loop {
            let failed = |reason, made, waited, failure: Failure| match failure.value {
                Some(value) => CallResult::Returned(value),
                None => CallResult::Failed {
                    reason,
                    attempts: made,
                    waited: ms(waited),
                    last: failure.last,
                },
            };
            let mut permit = None;
            if self.is_guarded() {
                permit = self.breaker.admit(self.now);
                if permit.is_none() {
                    self.give_back(cost);
                    let last = before.unwrap_or_else(|| Failure::interrupted(Last::Rejected));
                    return Ok(failed(Reason::CircuitOpen, made, waited, last));
                }
            }
            let end = self.group(permit, began)?;
            made += 1;
            let (failure, permit, cut) = match end {
                GroupEnd::Success(value, permit) => {
                    self.report(permit, Report::Success);
                    if self.is_guarded() {
                        self.refund(if made == 1 { 1 } else { cost });
                    }
                    return Ok(CallResult::Returned(value));
                }
                GroupEnd::Failure { failure, permit, cut } => (failure, permit, cut),
            };
            let report = match cut {
                Some(Cut::Timeout) => Report::Failure,
                Some(Cut::Deadline) => Report::Neither,
                None if failure.counts => Report::Failure,
                None => Report::Success,
            };
            self.report(permit, report);
            if cut == Some(Cut::Deadline) {
                // The caller gets the last error that is not an interruption.
                let last = match (failure.last == Last::Deadline, before) {
                    (true, Some(before)) => before,
                    _ => failure,
                };
                return Ok(failed(Reason::Deadline, made, waited, last));
            }
            let (wait, paid) = match self.wait_after(&failure, cut, began, made, waited) {
                Ok(wait) => wait,
                Err(reason) => return Ok(failed(reason, made, waited, failure)),
            };
            cost = paid;
            waited += wait;
            before = Some(failure);
            if let Err(stop) = self.advance(self.now + wait) {
                self.give_back(cost);
                return Err(stop);
            }
        }
    }

    /// The wait after a failed attempt and the tokens that the retry took, or the reason to give up.
    fn wait_after(
        &mut self,
        failure: &Failure,
        cut: Option<Cut>,
        began: Millis,
        made: u32,
        waited: Millis,
    ) -> Result<(Millis, u32), Reason> {
        let policy = self.policy;
        if !failure.is_retried {
            return Err(Reason::NotRetryable);
        }
        if !policy.allows_after(made) {
            return Err(Reason::Attempts);
        }
        let curve = millis(policy.wait(made));
        let wait = match failure.asks_for {
            Some(asked) if policy.allows_after(u32::MAX) => asked.max(curve),
            Some(asked) => asked,
            None => curve,
        };
        if policy.get_budget().is_some_and(|budget| waited + wait > millis(budget)) {
            return Err(Reason::Budget);
        }
        let elapsed = self.now - began + wait;
        if policy.get_deadline().is_some_and(|deadline| elapsed >= millis(deadline)) {
            return Err(Reason::Deadline);
        }
        if policy.get_max_elapsed().is_some_and(|most| elapsed > millis(most)) {
            return Err(Reason::MaxElapsed);
        }
        if !self.is_guarded() {
            return Ok((wait, 0));
        }
        // A limit may have ended the group after a member was throttled, which has a cost of its own.
        let cost = match failure.charge {
            Charge::Throttling => 5,
            Charge::Ordinary if cut.is_none() => 5,
            Charge::Ordinary | Charge::Timeout => 10,
        };
        if !self.take(cost) {
            return Err(Reason::Quota);
        }
        if !self.breaker.would_admit(self.now) {
            self.give_back(cost);
            return Err(Reason::CircuitOpen);
        }
        Ok((wait, cost))
    }

    /// Runs an attempt with its hedges.
    fn group(&mut self, permit: Option<Permit>, began: Millis) -> Result<GroupEnd, Stop> {
        let timeout =
            self.policy.get_timeout().map(|limit| (self.now + millis(limit), Cut::Timeout));
        let deadline =
            self.policy.get_deadline().map(|limit| (began + millis(limit), Cut::Deadline));
        let limit = match (timeout, deadline) {
            // The timeout wins a tie.
            (Some(timeout), Some(deadline)) if timeout.0 <= deadline.0 => Some(timeout),
            (timeout, deadline) => deadline.or(timeout),
        };
        let after = self.policy.get_hedge().map(millis);
        let mut next_hedge = after.map(|after| self.now + after);
        let mut hedges = 0;
        let mut running = vec![self.begin(permit)];
        let mut kept: Option<Failure> = None;
        let mut longest = None;
        loop {
            let ends = running.iter().filter_map(|member| member.ends);
            let events = ends.chain(next_hedge).chain(limit.map(|limit| limit.0));
            let at = events.clone().min().unwrap_or(Millis::MAX);
            self.has_ties |= events.filter(|event| *event == at).count() > 1;
            if let Err(stop) = self.advance(at) {
                self.abandon(&mut running);
                return Err(stop);
            }
            if let Some(ended) = running.iter().position(|member| member.ends == Some(at)) {
                let member = running.remove(ended);
                if member.outcome == Outcome::Panic {
                    // No rule orders these reports.
                    self.is_unspecified |= self.fates(&running).any(|fate| fate != Fate::Forgiven);
                    self.abandon(&mut running);
                    self.report(member.permit, Report::Failure);
                    return Err(Stop::Panicked);
                }
                let mut failure = match self.judge(member.outcome) {
                    Ok(value) => {
                        self.abandon(&mut running);
                        return Ok(GroupEnd::Success(value, member.permit));
                    }
                    Err(failure) => failure,
                };
                longest = longest.max(failure.asks_for);
                if !failure.is_retried || running.is_empty() {
                    self.abandon(&mut running);
                    failure.asks_for = longest;
                    return Ok(GroupEnd::Failure { failure, permit: member.permit, cut: None });
                }
                let report = if failure.counts { Report::Failure } else { Report::Success };
                self.report(member.permit, report);
                kept = Some(failure);
            } else if next_hedge == Some(at) {
                match self.join() {
                    Some(member) => {
                        running.push(member);
                        hedges += 1;
                        let more = hedges < self.policy.get_max_hedges();
                        next_hedge = after.filter(|_| more).map(|after| at + after);
                    }
                    None => next_hedge = None,
                }
            } else if let Some((_, cut)) = limit {
                // A timeout counts once; no rule names the attempt that it counts for.
                let mut fates = self.fates(&running);
                let first = fates.next();
                let differ = cut == Cut::Timeout && fates.any(|fate| Some(fate) != first);
                drop(fates);
                self.is_unspecified |= differ;
                let held = running.remove(0);
                self.abandon(&mut running);
                let mut failure = kept.unwrap_or_else(|| self.cut_off(cut));
                failure.asks_for = longest;
                return Ok(GroupEnd::Failure { failure, permit: held.permit, cut: Some(cut) });
            }
        }
    }

    fn begin(&mut self, permit: Option<Permit>) -> Member {
        let steps = &self.script.attempts;
        let step = steps[self.begun.len() % steps.len()];
        self.begun.push(self.now);
        let ends = step.takes.map(|takes| self.now + millis(takes));
        Member { ends, outcome: step.outcome, permit }
    }

    /// Begins a hedge if the breaker and the quota admit it.
    fn join(&mut self) -> Option<Member> {
        let mut permit = None;
        if self.is_guarded() {
            if !self.breaker.would_admit(self.now) {
                return None;
            }
            permit = self.breaker.admit(self.now);
            if !self.take(5) {
                self.report(permit, Report::Neither);
                return None;
            }
        }
        Some(self.begin(permit))
    }

    /// Drops running attempts.
    fn abandon(&mut self, running: &mut Vec<Member>) {
        for member in running.drain(..) {
            self.report(member.permit, Report::Neither);
        }
    }

    fn fates<'m>(&self, running: &'m [Member]) -> impl Iterator<Item = Fate> + use<'m> {
        let (limits, now) = (self.breaker.limits(), self.now);
        let permits = running.iter().filter_map(|member| member.permit);
        permits.map(move |permit| limits.fate(now - permit.at))
    }

    fn report(&mut self, permit: Option<Permit>, report: Report) {
        if let Some(permit) = permit {
            self.breaker.report(permit, self.now, report);
        }
    }

    /// Judges an outcome, which calls the predicate once.
    fn judge(&mut self, outcome: Outcome) -> Result<u32, Failure> {
        let Script { matching, kind, .. } = *self.script;
        if let Outcome::Value(value) = outcome {
            if matching != Matching::Values {
                return Ok(value);
            }
            self.judged += 1;
            return if value > 0 { Ok(value) } else { Err(Failure::unfinished()) };
        }
        let text = text_of(kind, outcome);
        let is_picked = text.contains('5') || outcome == Outcome::Corrupt;
        self.judged += u32::from(matching == Matching::When);
        let is_network = outcome == Outcome::Refused;
        let is_timeout = matches!(outcome, Outcome::TimedOut | Outcome::Status(504));
        let is_listed = is_network || is_timeout || outcome == Outcome::Throttled;
        let is_aborted = outcome == Outcome::Status(504);
        let is_retried = match matching {
            Matching::Everything => true,
            Matching::Listed => is_listed && !is_aborted,
            Matching::When => is_picked,
            Matching::ListedAndWhen => is_network || is_picked,
            Matching::Values => is_network,
        };
        Err(Failure {
            last: Last::Error(text),
            value: None,
            is_retried,
            counts: is_retried,
            // A text has no wait.
            asks_for: (outcome == Outcome::Throttled && kind != Kind::Text)
                .then_some(millis(ASKED_WAIT)),
            charge: match outcome {
                Outcome::Throttled => Charge::Throttling,
                _ if is_timeout => Charge::Timeout,
                _ => Charge::Ordinary,
            },
        })
    }

    /// The failure of an attempt that a limit has cut off.
    fn cut_off(&self, cut: Cut) -> Failure {
        let last = if cut == Cut::Timeout { Last::Timeout } else { Last::Deadline };
        let is_retried = matches!(self.script.matching, Matching::Everything | Matching::Listed);
        Failure { is_retried, charge: Charge::Timeout, ..Failure::interrupted(last) }
    }

    /// Pays for a retry or a hedge.
    fn take(&mut self, cost: u32) -> bool {
        if self.tokens < cost {
            return false;
        }
        if self.is_shared() {
            let (sure, perhaps) = self.recent();
            self.has_ties |= sure < 10 && perhaps >= 10;
            if perhaps >= 10 {
                return false;
            }
        }
        self.tokens -= cost;
        self.retries.push(self.now);
        true
    }

    /// Returns the tokens and the share of a retry that is not made.
    fn give_back(&mut self, cost: u32) {
        if cost > 0 {
            self.refund(cost);
            self.retries.pop();
        }
    }

    fn refund(&mut self, tokens: u32) {
        self.tokens = (self.tokens + tokens).min(self.script.protected().tokens);
    }

    fn is_shared(&self) -> bool {
        self.script.protected().shared
    }

    /// The least and the most retries that count for the share: it covers ten whole seconds, and
    /// the model does not know where a second begins.
    fn recent(&self) -> (usize, usize) {
        let within = |span| self.retries.iter().filter(|at| self.now - **at < span).count();
        (within(9_000), within(10_000))
    }

    /// The retries that the share still allows: ten in ten seconds are free, and no script makes
    /// enough calls for more.
    fn share_left(&self) -> Option<usize> {
        let (sure, perhaps) = self.recent();
        (self.is_shared() && sure == perhaps).then(|| 10 - sure)
    }
}

impl Failure {
    fn interrupted(last: Last) -> Self {
        Self {
            last,
            value: None,
            is_retried: false,
            counts: true,
            asks_for: None,
            charge: Charge::Ordinary,
        }
    }

    /// A value that is retried. The breaker counts it as a success.
    fn unfinished() -> Self {
        Self { value: Some(0), is_retried: true, counts: false, ..Self::interrupted(Last::Value) }
    }
}

/// A report to the breaker.
#[derive(Clone, Copy, PartialEq)]
enum Report {
    Success,
    Failure,
    Neither,
}

/// The count of a call that is dropped.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Forgiven,
    Slow,
    Failure,
}

/// The times after which a call is slow, and a dropped call is a failure.
#[derive(Clone, Copy)]
struct Limits {
    slow: Option<Millis>,
    abandoned: Option<Millis>,
}

impl Limits {
    fn is_slow(self, took: Millis) -> bool {
        self.slow.is_some_and(|limit| took > limit)
    }

    fn fate(self, took: Millis) -> Fate {
        if self.abandoned.is_some_and(|limit| took >= limit) {
            Fate::Failure
        } else if self.is_slow(took) {
            Fate::Slow
        } else {
            Fate::Forgiven
        }
    }
}

/// The admission of one call.
#[derive(Clone, Copy)]
struct Permit {
    at: Millis,
    /// The period of the breaker in which it was admitted.
    period: u32,
    probe: Option<u32>,
}

struct Breaker {
    opens: Opens,
    open: Millis,
    half_open_requests: u32,
    success_threshold: u32,
    state: State,
    period: u32,
    open_until: Millis,
    failures_in_a_row: u32,
    /// The last calls: failed, slow.
    window: VecDeque<(bool, bool)>,
    /// Calls, failures and slow calls of the window at the end of the last closed period.
    last_closed: (u64, u64, u64),
    probes: Vec<(u32, Millis)>,
    probes_made: u32,
    probe_successes: u32,
    reopenings: u32,
    successes: u64,
    failures: u64,
    slow: u64,
    forgiven: u64,
    rejected: u64,
}

impl Breaker {
    fn new(protection: Protection) -> Self {
        Self {
            opens: protection.opens,
            open: millis(protection.open),
            half_open_requests: protection.half_open_requests,
            success_threshold: protection.success_threshold,
            state: State::Closed,
            period: 0,
            open_until: 0,
            failures_in_a_row: 0,
            window: VecDeque::new(),
            last_closed: (0, 0, 0),
            probes: Vec::new(),
            probes_made: 0,
            probe_successes: 0,
            reopenings: 0,
            successes: 0,
            failures: 0,
            slow: 0,
            forgiven: 0,
            rejected: 0,
        }
    }

    fn limits(&self) -> Limits {
        let (slow, abandoned) = match self.opens {
            Opens::Slow { longer_than, .. } => (Some(millis(longer_than)), None),
            Opens::Abandoned { after, .. } => (None, Some(millis(after))),
            Opens::Failures(_) | Opens::Rate { .. } => (None, None),
        };
        Limits { slow, abandoned }
    }

    fn threshold(&self) -> Option<u32> {
        match self.opens {
            Opens::Failures(failures) | Opens::Abandoned { failures, .. } => Some(failures),
            Opens::Slow { failures, .. } => failures,
            Opens::Rate { .. } => None,
        }
    }

    /// Returns `true` if calls are counted in a window.
    fn is_measured(&self) -> bool {
        !matches!(self.opens, Opens::Failures(_))
    }

    /// The number of probes that hold a slot: after the open time, a probe loses its slot.
    fn slots_taken(&self, now: Millis) -> usize {
        self.probes.iter().filter(|(_, at)| now - at < self.open).count()
    }

    fn would_admit(&self, now: Millis) -> bool {
        match self.state {
            State::Open => now >= self.open_until,
            State::HalfOpen => self.slots_taken(now) < self.half_open_requests as usize,
            State::Closed => true,
        }
    }

    fn admit(&mut self, now: Millis) -> Option<Permit> {
        if !self.would_admit(now) {
            self.rejected += 1;
            return None;
        }
        if self.state == State::Open {
            self.change(State::HalfOpen);
        }
        let probe = (self.state == State::HalfOpen).then(|| {
            self.probes_made += 1;
            self.probes.push((self.probes_made, now));
            self.probes_made
        });
        Some(Permit { at: now, period: self.period, probe })
    }

    fn change(&mut self, to: State) {
        self.reopenings = match (self.state, to) {
            (State::HalfOpen, State::Open) => self.reopenings + 1,
            (_, State::Closed) => 0,
            _ => self.reopenings,
        };
        if self.state == State::Closed {
            self.last_closed = self.tally();
        }
        if to == State::Closed {
            self.window.clear();
            self.failures_in_a_row = 0;
        }
        self.probes.clear();
        self.probe_successes = 0;
        self.period += 1;
        self.state = to;
    }

    fn trip(&mut self, now: Millis) {
        self.change(State::Open);
        self.open_until = now + self.open;
    }

    fn report(&mut self, permit: Permit, now: Millis, report: Report) {
        let is_current = permit.period == self.period;
        let place = self.probes.iter().position(|(id, _)| Some(*id) == permit.probe);
        if let Some(place) = place {
            self.probes.remove(place);
        }
        let (took, limits) = (now - permit.at, self.limits());
        // The breaker no longer knows the start of a probe of an earlier period.
        let is_known = permit.probe.is_none() || is_current;
        let slow = is_known && limits.is_slow(took);
        let report = match report {
            Report::Neither if is_known && limits.fate(took) == Fate::Failure => Report::Failure,
            report => report,
        };
        match report {
            Report::Failure => self.failures += 1,
            _ if slow => self.slow += 1,
            Report::Neither => self.forgiven += 1,
            Report::Success => self.successes += 1,
        }
        if !is_current || report == Report::Neither && !slow {
            return;
        }
        if permit.probe.is_some() {
            if report == Report::Failure || slow {
                self.trip(now);
            } else {
                self.probe_successes += 1;
                if self.probe_successes >= self.success_threshold {
                    self.change(State::Closed);
                }
            }
            return;
        }
        match report {
            Report::Failure => self.failures_in_a_row += 1,
            Report::Success => self.failures_in_a_row = 0,
            Report::Neither => {}
        }
        let failed = report == Report::Failure;
        let (minimum, most) = match self.opens {
            Opens::Failures(_) => (0, 0),
            Opens::Rate { minimum, window } | Opens::Slow { minimum, window, .. } => {
                (minimum, window)
            }
            // The defaults of `BreakerConfig`.
            Opens::Abandoned { .. } => (10, 100),
        };
        self.window.push_back((failed, slow));
        if self.window.len() > most as usize {
            self.window.pop_front();
        }
        let (calls, failures, slow_calls) = self.tally();
        let by_rate = calls >= u64::from(minimum)
            && match self.opens {
                Opens::Rate { .. } => failures * 2 >= calls,
                Opens::Slow { .. } => slow_calls * 2 >= calls,
                Opens::Failures(_) | Opens::Abandoned { .. } => false,
            };
        let by_row = failed && self.threshold().is_some_and(|most| self.failures_in_a_row >= most);
        if (failed || slow) && (by_rate || by_row) {
            self.trip(now);
        }
    }

    fn tally(&self) -> (u64, u64, u64) {
        let count = |is: fn(&&(bool, bool)) -> bool| self.window.iter().filter(is).count() as u64;
        (self.window.len() as u64, count(|call| call.0), count(|call| call.1))
    }

    fn seen(&self, now: Millis) -> BreakerSeen {
        let is_closed = self.state == State::Closed;
        let window = if is_closed { self.tally() } else { self.last_closed };
        let is_open = self.state == State::Open;
        BreakerSeen {
            state: self.state,
            remaining: ms(if is_open { self.open_until.saturating_sub(now) } else { 0 }),
            failures_in_a_row: match self.threshold() {
                Some(_) if is_closed => self.failures_in_a_row,
                _ => 0,
            },
            window,
            probes: self.slots_taken(now),
            probe_successes: self.probe_successes,
            reopenings: self.reopenings,
            successes: self.is_measured().then_some(self.successes),
            failures: self.failures,
            slow: self.slow,
            forgiven: self.forgiven,
            rejected: self.rejected,
        }
    }
}
