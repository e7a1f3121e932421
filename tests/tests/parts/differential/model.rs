//! The naive model of a call, written after the rules of the documentation.
//!
//! It has no futures, locks or clocks. Times are milliseconds since the script began, and each step
//! handles the earliest event.

use std::collections::VecDeque;
use std::time::Duration;

/// The shares of the calls that the stages of a gradual breaker admit, in percent.
const SHARES: [u64; 4] = [1, 5, 25, 50];

use retry_runtime::{Policy, Reason, State};

use super::script::{
    Kind, Matching, Opens, Other, Outcome, Protection, Script, WAIT_OF_OTHERS, ms, text_of,
};
use super::world::{BreakerSeen, CallResult, Ended, Last};

type Millis = u64;

fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).expect("scripts are short")
}

/// The time after a wait: timers are of whole milliseconds.
fn after(now: Millis, wait: Duration) -> Millis {
    now + u64::try_from(wait.as_nanos().div_ceil(1_000_000)).expect("scripts are short")
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
    /// All waits, in order.
    pub(super) waits: Vec<Duration>,
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
    /// The wait that the server of this attempt asks for, for which a breaker may hold calls.
    holds_for: Option<Millis>,
    is_rate_limit: bool,
    /// The longest wait that the servers of a group ask for.
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
    others: VecDeque<Other>,
    gives_up_at: Millis,
    has_ties: bool,
    is_unspecified: bool,
    /// The waits that were observed, of which the model takes the random parts; `None` if there are
    /// none, in which case it takes the means.
    observed: Option<&'s [Duration]>,
    waits: Vec<Duration>,
}

/// Returns the expected results of a script, given the waits that were observed.
pub(super) fn expected(script: &Script, observed: Option<&[Duration]>) -> Expected {
    let mut model = Model::new(script, observed);
    let calls: Vec<_> = script.calls.iter().map(|call| model.play(*call)).collect();
    let share_left = model.share_left();
    let Model { has_ties, is_unspecified, waits, .. } = model;
    Expected { calls, share_left, has_ties, is_unspecified, waits }
}

/// The period of the breaker in which a stage admitted the last attempt of a call.
type StagePass = Option<u32>;

impl<'s> Model<'s> {
    fn new(script: &'s Script, observed: Option<&'s [Duration]>) -> Self {
        Self {
            script,
            observed,
            waits: Vec::new(),
            policy: script.policy(),
            now: 0,
            begun: Vec::new(),
            judged: 0,
            breaker: Breaker::new(script.protected()),
            tokens: script.protected().tokens,
            retries: Vec::new(),
            others: script.others.iter().copied().collect(),
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
        while let Some(other) = self.others.front().copied().filter(|other| millis(other.at) <= at)
        {
            let then = millis(other.at);
            self.has_ties |= then == at;
            self.others.pop_front();
            if let Ok(permit) = self.breaker.admit(then, None) {
                let held = other.is_limited && self.breaker.hold(then, millis(WAIT_OF_OTHERS));
                self.breaker.report(
                    permit,
                    then,
                    if held { Report::Held } else { Report::Failure },
                );
            }
        }
        self.now = at;
        if to > at { Err(Stop::Dropped) } else { Ok(()) }
    }

    fn call(&mut self) -> Result<CallResult, Stop> {
        let began = self.now;
        let (mut made, mut waited) = (0_u32, Duration::ZERO);
        let mut pass = None;
        let mut before: Option<Failure> = None;
        let mut cost = 0;
        loop {
            let failed = |reason, made, waited, failure: Failure| match failure.value {
                Some(value) => CallResult::Returned(value),
                None => CallResult::Failed { reason, attempts: made, waited, last: failure.last },
            };
            let mut permit = None;
            if self.is_guarded() {
                let refused = match self.breaker.admit(self.now, pass) {
                    Ok(admitted) => {
                        permit = Some(admitted);
                        None
                    }
                    // A call that has failed waits for the end of the hold.
                    Err(Refusal::Held) if made > 0 => {
                        match self.wait_until_released(Duration::ZERO, began, waited) {
                            Ok(wait) => {
                                self.wait(wait);
                                waited += wait;
                                if let Err(stop) = self.await_release(wait) {
                                    self.give_back(cost);
                                    return Err(stop);
                                }
                                continue;
                            }
                            Err(reason) => Some(reason),
                        }
                    }
                    Err(Refusal::Held) => Some(Reason::Held),
                    Err(Refusal::Open) => Some(Reason::CircuitOpen),
                };
                if let Some(reason) = refused {
                    self.give_back(cost);
                    let last = before.unwrap_or_else(|| Failure::interrupted(Last::Rejected));
                    return Ok(failed(reason, made, waited, last));
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
            pass = permit.and_then(Permit::stage_pass);
            match cut {
                Some(Cut::Timeout) => self.report(permit, Report::Failure),
                Some(Cut::Deadline) => self.report(permit, Report::Neither),
                None => self.report_failure(permit, &failure),
            }
            if cut == Some(Cut::Deadline) {
                // The caller gets the last error that is not an interruption.
                let last = match (failure.last == Last::Deadline, before) {
                    (true, Some(before)) => before,
                    _ => failure,
                };
                return Ok(failed(Reason::Deadline, made, waited, last));
            }
            let decided = self.wait_after(&failure, pass, cut, began, made, waited);
            let (wait, paid) = match decided {
                Ok(wait) => wait,
                Err(reason) => return Ok(failed(reason, made, waited, failure)),
            };
            self.wait(wait);
            cost = paid;
            waited += wait;
            before = Some(failure);
            if let Err(stop) = self.advance(after(self.now, wait)) {
                self.give_back(cost);
                return Err(stop);
            }
        }
    }

    /// The wait after a failed attempt and the tokens that the retry took, or the reason to give up.
    fn wait_after(
        &mut self,
        failure: &Failure,
        pass: StagePass,
        cut: Option<Cut>,
        began: Millis,
        made: u32,
        waited: Duration,
    ) -> Result<(Duration, u32), Reason> {
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
        if failure.asks_for.is_some_and(|asked| ms(asked) > policy.get_max_retry_after()) {
            return Err(Reason::RetryAfter);
        }
        let wait = self.wait_until_released(ms(wait), began, waited)?;
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
        if !self.breaker.would_admit_retry(self.now, pass) {
            self.give_back(cost);
            return Err(Reason::CircuitOpen);
        }
        Ok((wait, cost))
    }

    /// The wait of at least `wait`, until the end of a hold and some time after it, as far as the limits
    /// on time allow it.
    fn wait_until_released(
        &self,
        wait: Duration,
        began: Millis,
        waited: Duration,
    ) -> Result<Duration, Reason> {
        let allows = |wait| self.allows_wait(wait, began, waited);
        let held_for = if self.is_guarded() { self.breaker.held_for(self.now) } else { 0 };
        if held_for == 0 {
            return allows(wait).map(|()| wait);
        }
        let held_for = ms(held_for);
        if held_for > wait.max(self.policy.get_max_retry_after()) {
            return Err(Reason::Held);
        }
        let end = wait.max(held_for);
        allows(end)?;
        let longest = wait.max(held_for + ms(self.breaker.hold_length()) / 10);
        let chosen = match self.observed {
            Some(observed) => observed.get(self.waits.len()).copied().unwrap_or(end),
            None => (end + longest) / 2,
        };
        let is_possible = (end..=longest).contains(&chosen) && allows(chosen).is_ok();
        Ok(if is_possible { chosen } else { end })
    }

    fn allows_wait(&self, wait: Duration, began: Millis, waited: Duration) -> Result<(), Reason> {
        let policy = self.policy;
        if policy.get_budget().is_some_and(|budget| waited + wait > budget) {
            return Err(Reason::Budget);
        }
        let elapsed = ms(self.now - began) + wait;
        if policy.get_deadline().is_some_and(|deadline| elapsed >= deadline) {
            return Err(Reason::Deadline);
        }
        if policy.get_max_elapsed().is_some_and(|most| elapsed > most) {
            return Err(Reason::MaxElapsed);
        }
        Ok(())
    }

    /// Records a wait.
    fn wait(&mut self, wait: Duration) {
        self.waits.push(wait);
    }

    /// Waits for the end of the hold that has refused the call. A change of the breaker after that ends
    /// the wait early, which the model does not follow.
    fn await_release(&mut self, wait: Duration) -> Result<(), Stop> {
        let (released, end) = (self.breaker.held_until, after(self.now, wait));
        let changes = |other: &Other| (released..end).contains(&millis(other.at));
        self.has_ties |= self.others.iter().any(changes);
        self.advance(end)
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
                self.report_failure(member.permit, &failure);
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
            permit = self.breaker.admit(self.now, None).ok();
            permit?;
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

    /// Reports a failed attempt. A wait that its server asks for holds all calls.
    fn report_failure(&mut self, permit: Option<Permit>, failure: &Failure) {
        let Some(permit) = permit else { return };
        let holds = failure.holds_for.is_some_and(|wait| self.breaker.hold(self.now, wait));
        let report = match failure.counts {
            _ if holds && failure.is_rate_limit => Report::Held,
            true => Report::Failure,
            false => Report::Success,
        };
        self.breaker.report(permit, self.now, report);
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
        // A text has no wait.
        let asked = outcome.asked_wait().filter(|_| kind != Kind::Text).map(millis);
        Err(Failure {
            last: Last::Error(text),
            value: None,
            is_retried,
            counts: is_retried,
            holds_for: asked,
            is_rate_limit: outcome == Outcome::Throttled,
            asks_for: asked,
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
            holds_for: None,
            is_rate_limit: false,
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
    Held,
}

/// A refusal by the breaker, by what ends later.
#[derive(Clone, Copy)]
enum Refusal {
    Open,
    Held,
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
    /// `true` if a stage admitted it.
    in_stage: bool,
}

impl Permit {
    fn stage_pass(self) -> StagePass {
        self.in_stage.then_some(self.period)
    }
}

/// A stage of a gradual recovery.
struct Stage {
    number: usize,
    began: Millis,
    until: Millis,
    arrivals: u64,
    running: u32,
    admitted_at: Millis,
    has_succeeded: bool,
}

impl Stage {
    fn new(number: usize, now: Millis, least: Millis) -> Self {
        Self {
            number,
            began: now,
            until: now + least,
            arrivals: 0,
            running: 0,
            admitted_at: 0,
            has_succeeded: false,
        }
    }

    /// Returns `true` if the next place, of those that the golden ratio spreads evenly, is admitted.
    fn has_place(&self) -> bool {
        let place = self.arrivals.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        place < u64::MAX / 100 * SHARES[self.number]
    }
}

struct Breaker {
    opens: Opens,
    open: Millis,
    half_open_requests: u32,
    success_threshold: u32,
    stage_time: Option<Millis>,
    /// The longest hold.
    most_hold: Option<Millis>,
    held_from: Millis,
    held_until: Millis,
    state: State,
    /// In addition to the half-open state.
    stage: Option<Stage>,
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
    held: u64,
}

impl Breaker {
    fn new(protection: Protection) -> Self {
        Self {
            opens: protection.opens,
            open: millis(protection.open),
            half_open_requests: protection.half_open_requests,
            success_threshold: protection.success_threshold,
            stage_time: protection.stage.map(millis),
            most_hold: protection.hold.map(millis),
            held_from: 0,
            held_until: 0,
            state: State::Closed,
            stage: None,
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
            held: 0,
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

    /// Holds all calls, if the breaker may.
    fn hold(&mut self, now: Millis, wait: Millis) -> bool {
        let Some(most) = self.most_hold else { return false };
        let until = now + wait.min(most);
        if until > self.held_until {
            if self.held_until <= now {
                self.held_from = now;
            }
            self.held_until = until;
        }
        true
    }

    fn held_for(&self, now: Millis) -> Millis {
        self.held_until.saturating_sub(now)
    }

    /// The length of the present hold, as far as it counts for the time in which calls come after it.
    fn hold_length(&self) -> Millis {
        (self.held_until - self.held_from).min(self.most_hold.unwrap_or_default())
    }

    fn open_for(&self, now: Millis) -> Millis {
        if self.state == State::Open { self.open_until.saturating_sub(now) } else { 0 }
    }

    /// Returns `true` if the breaker would admit a call that comes for the first time.
    fn would_admit(&self, now: Millis) -> bool {
        if self.held_for(now) > 0 {
            return false;
        }
        match (self.state, &self.stage) {
            (State::Open, _) => now >= self.open_until,
            (State::HalfOpen, Some(stage)) => {
                let is_over = stage.has_succeeded || self.is_quiet(stage, now);
                stage.number == SHARES.len() || stage.has_place() || now >= stage.until && is_over
            }
            (State::HalfOpen, None) => self.slots_taken(now) < self.half_open_requests as usize,
            (State::Closed, _) => true,
        }
    }

    /// Returns `true` if a call that has failed may be retried.
    fn would_admit_retry(&self, now: Millis, pass: StagePass) -> bool {
        if self.held_for(now) > self.open_for(now) {
            return true;
        }
        match self.stage {
            Some(_) => pass == Some(self.period),
            None => self.would_admit(now),
        }
    }

    /// Returns `true` if no call that a stage admitted may still succeed in time.
    fn is_quiet(&self, stage: &Stage, now: Millis) -> bool {
        stage.running == 0 || stage.admitted_at + self.open <= now
    }

    fn admit(&mut self, now: Millis, pass: StagePass) -> Result<Permit, Refusal> {
        if self.held_for(now) > 0 {
            self.rejected += 1;
            let is_longest = self.held_for(now) > self.open_for(now);
            return Err(if is_longest { Refusal::Held } else { Refusal::Open });
        }
        if self.stage.is_some() {
            return self.join_stage(now, pass);
        }
        if !self.would_admit(now) {
            self.rejected += 1;
            return Err(Refusal::Open);
        }
        if self.state == State::Open {
            self.change(State::HalfOpen);
        }
        let probe = (self.state == State::HalfOpen).then(|| {
            self.probes_made += 1;
            self.probes.push((self.probes_made, now));
            self.probes_made
        });
        Ok(Permit { at: now, period: self.period, probe, in_stage: false })
    }

    /// Admits a share of the calls. The first call after the last stage closes the breaker.
    fn join_stage(&mut self, now: Millis, pass: StagePass) -> Result<Permit, Refusal> {
        let least = self.stage_time.expect("a breaker with stages");
        let mut stage = self.stage.take().expect("a stage");
        if now >= stage.until {
            if stage.has_succeeded {
                stage = Stage::new(stage.number + 1, now, least);
            } else if self.is_quiet(&stage, now) {
                (stage.arrivals, stage.until) = (0, now + least);
            }
        }
        if stage.number == SHARES.len() {
            self.stage = Some(stage);
            self.change(State::Closed);
            return self.admit(now, pass);
        }
        let is_admitted = match pass {
            Some(period) if period == self.period => true,
            _ => {
                let has_place = stage.has_place();
                stage.arrivals += 1;
                has_place
            }
        };
        if is_admitted {
            stage.running += 1;
            stage.admitted_at = now;
        } else {
            self.rejected += 1;
        }
        self.stage = Some(stage);
        if !is_admitted {
            return Err(Refusal::Open);
        }
        Ok(Permit { at: now, period: self.period, probe: None, in_stage: true })
    }

    /// Enough probes have succeeded.
    fn recover(&mut self, now: Millis) {
        match self.stage_time {
            Some(least) => {
                self.change(State::HalfOpen);
                self.window.clear();
                self.failures_in_a_row = 0;
                self.stage = Some(Stage::new(0, now, least));
            }
            None => self.change(State::Closed),
        }
    }

    fn change(&mut self, to: State) {
        self.reopenings = match (self.state, to) {
            (State::HalfOpen, State::Open) => self.reopenings + 1,
            (_, State::Closed) => 0,
            _ => self.reopenings,
        };
        if self.state == State::Closed || self.stage.take().is_some() {
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

    /// Judges a call, and then the stage that admitted it.
    fn report(&mut self, permit: Permit, now: Millis, report: Report) {
        let is_success = report == Report::Success && !self.limits().is_slow(now - permit.at);
        self.judge(permit, now, report);
        let is_current = permit.in_stage && permit.period == self.period;
        // A call of an earlier stage says nothing about this one.
        if let Some(stage) =
            self.stage.as_mut().filter(|stage| is_current && permit.at >= stage.began)
        {
            stage.running = stage.running.saturating_sub(1);
            stage.has_succeeded |= is_success;
        }
    }

    fn judge(&mut self, permit: Permit, now: Millis, report: Report) {
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
        // A probe that a server's wait has ended leaves the state as it is.
        let slow = slow && !(report == Report::Held && permit.probe.is_some());
        match report {
            Report::Failure => self.failures += 1,
            _ if slow => self.slow += 1,
            Report::Neither => self.forgiven += 1,
            Report::Success => self.successes += 1,
            Report::Held => self.held += 1,
        }
        if !is_current || matches!(report, Report::Neither | Report::Held) && !slow {
            return;
        }
        if permit.probe.is_some() {
            if report == Report::Failure || slow {
                self.trip(now);
            } else {
                self.probe_successes += 1;
                if self.probe_successes >= self.success_threshold {
                    self.recover(now);
                }
            }
            return;
        }
        match report {
            Report::Failure => self.failures_in_a_row += 1,
            Report::Success => self.failures_in_a_row = 0,
            Report::Neither | Report::Held => {}
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
        let is_counting = is_closed || self.stage.is_some();
        let window = if is_counting { self.tally() } else { self.last_closed };
        BreakerSeen {
            state: self.state,
            remaining: ms(self.open_for(now)),
            held_for: ms(self.held_for(now)),
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
            held: self.held,
        }
    }
}
