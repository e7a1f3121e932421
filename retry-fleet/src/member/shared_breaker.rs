//! A shared breaker of this process: what its member reports about it, and how it follows the
//! fleet: open everywhere, permission to probe, closed for all.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use retry_runtime::random_between;
use retry_runtime::{CircuitBreaker, RemoteState, Shared, Snapshot, State, TransitionListener};
use tokio::time::Instant;

use crate::hub::{HubResult, Report};
use crate::member::contact::Contact;
use crate::observe::FleetEvent;
use crate::rules::fleet_breaker::{Change, FleetBreaker};
use crate::rules::quorum::Tally;
use crate::rules::timing::{HEARTBEAT, HOLD_STEP, PATIENCE, PROBE, PROBE_HELD, REJECTED, SPREAD};
use crate::sync::lock;

/// The outcomes of a breaker's probes, from its listener to the member's task.
pub(crate) type VerdictSlot = Arc<Mutex<Option<ProbeVerdict>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeVerdict {
    Recovered,
    Failed,
}

/// The share of callers at which the breaker opens everywhere; it may change at any time.
#[derive(Debug)]
pub(crate) struct OpensAt(AtomicU64);

impl OpensAt {
    pub(crate) fn new(share: f64) -> Self {
        Self(AtomicU64::new(share.to_bits()))
    }

    pub(crate) fn set(&self, share: f64) {
        self.0.store(share.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) struct SharedBreaker {
    breaker: Shared<CircuitBreaker>,
    name: String,
    opens_at: Arc<OpensAt>,
    verdict: VerdictSlot,
    /// Fills the slot, for as long as the breaker is shared.
    listener: TransitionListener,
    /// The last report to the hub, and the time of the last reported call.
    reported_open: bool,
    reported_called: Option<Instant>,
    /// Set if there was a call that has not been reported.
    called: bool,
    rejected: u64,
    rejected_at: Option<Instant>,
    /// The epoch and the end of the record that was last followed.
    followed: Option<(u64, Option<Duration>)>,
    /// The end of the fleet's hold that was last followed, on the hub's clock.
    followed_hold: Option<Duration>,
    /// The end of this member's hold, as last seen.
    held_until: Option<Instant>,
    /// The time to close at, because the breaker was closed everywhere.
    close_at: Option<Instant>,
    probing: Option<Probing>,
}

/// The state of a member that is probing.
struct Probing {
    /// The end of the lease, as seen by this member.
    until: Instant,
    /// The time at which a probe last began or succeeded.
    active_at: Instant,
    is_under_way: bool,
    successes: u32,
}

impl Drop for SharedBreaker {
    fn drop(&mut self) {
        self.breaker.as_ref().remove_listener(&self.listener);
    }
}

impl SharedBreaker {
    pub(crate) fn new(
        breaker: Shared<CircuitBreaker>,
        opens_at: Arc<OpensAt>,
        verdict: VerdictSlot,
        listener: TransitionListener,
    ) -> Self {
        let known = breaker.as_ref();
        known.take_called();
        let (name, rejected) = (known.name().to_owned(), known.snapshot().outcomes.rejected);
        Self {
            breaker,
            name,
            opens_at,
            verdict,
            listener,
            reported_open: false,
            reported_called: None,
            called: false,
            rejected,
            rejected_at: None,
            followed: None,
            followed_hold: None,
            held_until: None,
            close_at: None,
            probing: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns when to attend to it, if that is before the next poll.
    pub(crate) fn wants_attention_at(&self) -> Option<Instant> {
        self.close_at
    }

    /// A report for the hub, if there is news.
    pub(crate) fn report(&mut self, now: Instant) -> Option<Report> {
        let breaker = self.breaker.as_ref();
        let snapshot = breaker.snapshot();
        self.called |= breaker.take_called();
        if snapshot.outcomes.rejected != self.rejected {
            self.rejected = snapshot.outcomes.rejected;
            self.rejected_at = Some(now);
        }
        let open = is_own_opening(&snapshot);
        let was_reported = self.reported_called.is_some_and(|at| now - at < HEARTBEAT);
        let called = self.called && !was_reported;
        // A member that has opened it counts as a caller.
        let called = called || (open && !self.reported_open);
        (called || open != self.reported_open).then(|| Report {
            breaker: self.name.clone(),
            called,
            open,
        })
    }

    /// The hub has received a report.
    pub(crate) fn reported(&mut self, report: &Report, now: Instant) {
        self.reported_open = report.open;
        if report.called {
            self.reported_called = Some(now);
            self.called = false;
        }
    }

    /// Reports everything again, because the hub may not have received it.
    pub(crate) fn report_again(&mut self) {
        (self.reported_open, self.reported_called) = (false, None);
    }

    /// Returns whether this member needs to know how many of the others have opened it.
    pub(crate) fn wants_tally(&self, report: Option<&Report>) -> bool {
        report.map_or(self.reported_open, |report| report.open) && !self.is_fleet_controlled()
    }

    fn is_fleet_controlled(&self) -> bool {
        self.breaker.as_ref().snapshot().by_fleet
    }

    /// Closes the breaker when it is time.
    pub(crate) fn attend(&mut self, now: Instant) {
        if self.close_at.is_some_and(|at| at <= now) {
            self.close_at = None;
            self.breaker.as_ref().follow(RemoteState::Closed);
        }
    }

    /// Acts on the hub's record, at the hub's time `now`.
    pub(crate) async fn follow_record(
        &mut self,
        contact: &Contact,
        record: &FleetBreaker,
        tally: Option<Tally>,
        members: u32,
        now: Duration,
    ) -> HubResult<()> {
        if self.was_reset() {
            let changed = contact.change(&self.name, Change::EndHold).await?;
            self.held_until = None;
            self.followed_hold = changed.record.held_until;
            return Ok(());
        }
        self.follow(record, now);
        self.share_hold(contact, record, now).await?;
        if self.probing.is_some() {
            return self.continue_probing(contact, record).await;
        }
        let snapshot = self.breaker.as_ref().snapshot();
        if record.is_open(now) {
            let is_wanted = self.rejected_at.is_some_and(|at| at.elapsed() <= REJECTED);
            let is_held = !snapshot.held.is_zero();
            let may_probe = !is_held && record.may_probe(&contact.id, now);
            if is_wanted && snapshot.state == State::Open && may_probe {
                return self.begin_probing(contact).await;
            }
        } else if let Some(tally) = tally.filter(|_| is_own_opening(&snapshot)) {
            let tally = tally.and_one_more();
            if tally.is_quorum(self.opens_at.get(), members) {
                return self.open_everywhere(contact, tally).await;
            }
        }
        Ok(())
    }

    /// Returns whether the breaker of this member was reset during a hold: it ended before its
    /// time, and not by force.
    fn was_reset(&self) -> bool {
        let lasts = self.held_until.is_some_and(|until| until > Instant::now());
        let snapshot = self.breaker.as_ref().snapshot();
        lasts && snapshot.held.is_zero() && !snapshot.forced
    }

    /// Shares the hold of this member, if it ends later than the fleet's.
    async fn share_hold(
        &mut self,
        contact: &Contact,
        record: &FleetBreaker,
        now: Duration,
    ) -> HubResult<()> {
        let wait = self.breaker.as_ref().held_for();
        let known = record.held_until.map_or(Duration::ZERO, |until| until.saturating_sub(now));
        if wait > known.saturating_add(HOLD_STEP) {
            let changed = contact.change(&self.name, Change::Hold { wait }).await?;
            self.follow_hold(&changed.record, changed.now);
        }
        let held_for = self.breaker.as_ref().held_for();
        self.held_until = (!held_for.is_zero()).then(|| Instant::now() + held_for);
        Ok(())
    }

    /// Follows the hold of the record, if it has changed. The hub's memory may be lost, so that
    /// only an end that moves back says that a member was reset.
    fn follow_hold(&mut self, record: &FleetBreaker, now: Duration) {
        let known = core::mem::replace(&mut self.followed_hold, record.held_until);
        let (Some(until), true) = (record.held_until, known != record.held_until) else { return };
        let breaker = self.breaker.as_ref();
        if known.is_some_and(|known| until < known) {
            breaker.follow(RemoteState::EndHold);
            self.held_until = None;
        }
        breaker.hold(until.saturating_sub(now));
    }

    /// Follows the record, if it has changed.
    pub(crate) fn follow(&mut self, record: &FleetBreaker, now: Duration) {
        self.follow_hold(record, now);
        let until = record.open.as_ref().map(|open| open.until);
        let known = self.followed.replace((record.epoch, until));
        if known == self.followed {
            return;
        }
        // A smaller epoch means that the hub has lost its memory. It then has no record of an
        // opening, whatever the state of the dependency is.
        let known = known.filter(|(epoch, _)| *epoch <= record.epoch);
        let breaker = self.breaker.as_ref();
        let snapshot = breaker.snapshot();
        let is_news = known.is_none_or(|(epoch, _)| epoch != record.epoch);
        match until {
            Some(until) if until > now => {
                // Only the end of the open time has changed; a member that already decides alone
                // continues to do so.
                let follows = snapshot.by_fleet && snapshot.state == State::Open;
                if is_news {
                    self.close_at = None;
                    self.probing = None;
                }
                if is_news || (follows && self.probing.is_none()) {
                    breaker.follow(RemoteState::Open(until.saturating_sub(now)));
                }
            }
            None if is_news && known.is_some() && snapshot.state != State::Closed => {
                // Spread over time, because the dependency has only just recovered.
                self.probing = None;
                self.close_at = Some(Instant::now() + random_between(Duration::ZERO, SPREAD));
            }
            _ => {}
        }
    }

    async fn open_everywhere(&mut self, contact: &Contact, tally: Tally) -> HubResult<()> {
        let open_time = self.open_time(0);
        let change = Change::Open { open_time, patience: PATIENCE };
        let changed = contact.change(&self.name, change).await?;
        if changed.done {
            let (fleet, breaker) = (contact.fleet.as_str(), self.name.as_str());
            contact.emit(&FleetEvent::Opened { fleet, breaker, tally, open_time });
        }
        self.follow(&changed.record, changed.now);
        Ok(())
    }

    fn open_time(&self, reopenings: u32) -> Duration {
        let (shortest, longest) = self.breaker.as_ref().config().open_time(reopenings);
        random_between(shortest, longest)
    }

    async fn begin_probing(&mut self, contact: &Contact) -> HubResult<()> {
        let asked = Instant::now();
        let change = Change::Probe { lasts: PROBE, patience: PATIENCE };
        let changed = contact.change(&self.name, change).await?;
        if !changed.done {
            self.follow(&changed.record, changed.now);
            return Ok(());
        }
        // An earlier verdict does not belong to these probes.
        self.take_verdict();
        let until = asked + PROBE_HELD;
        let breaker = self.breaker.as_ref();
        if !breaker.follow(RemoteState::Probe(until.saturating_duration_since(Instant::now()))) {
            return contact.change(&self.name, Change::Release).await.map(drop);
        }
        let (fleet, breaker) = (contact.fleet.as_str(), self.name.as_str());
        contact.emit(&FleetEvent::Probing { fleet, breaker });
        self.followed =
            Some((changed.record.epoch, changed.record.open.as_ref().map(|open| open.until)));
        self.probing = Some(Probing { until, active_at: asked, is_under_way: false, successes: 0 });
        Ok(())
    }

    async fn continue_probing(
        &mut self,
        contact: &Contact,
        record: &FleetBreaker,
    ) -> HubResult<()> {
        if let Some(verdict) = self.take_verdict() {
            return self.give_verdict(contact, verdict, record).await;
        }
        let breaker = self.breaker.as_ref();
        let snapshot = breaker.snapshot();
        let Some(probing) = &mut self.probing else { return Ok(()) };
        let now = Instant::now();
        let is_under_way = snapshot.probes > 0;
        if snapshot.probe_successes != probing.successes || (is_under_way && !probing.is_under_way)
        {
            (probing.successes, probing.active_at) = (snapshot.probe_successes, now);
        }
        probing.is_under_way = is_under_way;

        // The breaker was forced or reset, which is not a verdict.
        let is_given_up = snapshot.state != State::HalfOpen;
        let silent = now - probing.active_at;
        let is_in_use = if is_under_way {
            silent < breaker.config().get_timeout()
        } else {
            probing.successes > 0 && silent < PROBE
        };
        if is_given_up || (!is_in_use && now >= probing.until) {
            return self.stop_probing(contact, is_given_up).await;
        }
        if is_in_use {
            let change = Change::Probe { lasts: PROBE, patience: PATIENCE };
            let changed = contact.change(&self.name, change).await?;
            if !changed.done {
                return self.stop_probing(contact, false).await;
            }
            probing.until = now + PROBE_HELD;
            breaker.follow(RemoteState::Probe(
                probing.until.saturating_duration_since(Instant::now()),
            ));
        }
        Ok(())
    }

    /// Stops probing without a verdict: the lease was lost, unused or not needed. The breaker
    /// follows the record again.
    async fn stop_probing(&mut self, contact: &Contact, is_given_up: bool) -> HubResult<()> {
        self.probing = None;
        let changed = contact.change(&self.name, Change::Release).await?;
        if !is_given_up {
            self.followed = None;
            self.follow(&changed.record, changed.now);
        }
        Ok(())
    }

    async fn give_verdict(
        &mut self,
        contact: &Contact,
        verdict: ProbeVerdict,
        record: &FleetBreaker,
    ) -> HubResult<()> {
        let reopenings = record.open.as_ref().map_or(0, |open| open.reopenings);
        let open_time = self.open_time(reopenings.saturating_add(1));
        let change = match verdict {
            ProbeVerdict::Recovered => Change::Recovered,
            ProbeVerdict::Failed => Change::Failed { open_time, patience: PATIENCE },
        };
        let changed = match contact.change(&self.name, change).await {
            Ok(changed) => changed,
            Err(error) => {
                // Keep the verdict, because the hub does not know it yet.
                self.lock_verdict().get_or_insert(verdict);
                return Err(error);
            }
        };
        self.probing = None;
        let (fleet, breaker) = (contact.fleet.as_str(), self.name.as_str());
        match verdict {
            ProbeVerdict::Recovered if changed.done => {
                contact.emit(&FleetEvent::Closed { fleet, breaker });
                // The breaker is already closed here, and may have opened again since.
                self.followed = Some((changed.record.epoch, None));
            }
            ProbeVerdict::Failed if changed.done => {
                contact.emit(&FleetEvent::Reopened { fleet, breaker, open_time });
                self.follow(&changed.record, changed.now);
            }
            // Another member held the lease by then: follow the record.
            _ => {
                self.followed = None;
                self.follow(&changed.record, changed.now);
            }
        }
        Ok(())
    }

    fn take_verdict(&self) -> Option<ProbeVerdict> {
        self.lock_verdict().take()
    }

    fn lock_verdict(&self) -> std::sync::MutexGuard<'_, Option<ProbeVerdict>> {
        lock(&self.verdict)
    }
}

/// Returns whether the breaker is not closed because of what this process itself has seen.
fn is_own_opening(snapshot: &Snapshot) -> bool {
    snapshot.state != State::Closed && !snapshot.by_fleet && !snapshot.forced
}
