//! The task of a member: polls the hub once for everything that it shares, and acts on the answer.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use retry_runtime::random_between;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::hub::{Beat, HubError, HubResult, View};
use crate::member::contact::{Contact, Outage};
use crate::member::shared_breaker::SharedBreaker;
use crate::rules::timing::{ALIVE, CALLER_WINDOW, HEARTBEAT, POLL, RETRY};
use crate::sync::lock;

/// The shortest time between two polls.
const SOONEST: Duration = Duration::from_millis(50);

/// The state shared by a fleet's handles and its task.
pub(crate) struct Common {
    pub(crate) contact: Contact,
    /// The breakers to be shared from now on.
    incoming: Mutex<Vec<SharedBreaker>>,
    /// Wakes the task when there is something that the others should know at once.
    pub(crate) wake: Notify,
    is_leaving: AtomicBool,
    /// The number of live members, as far as this one knows.
    members: AtomicU32,
    /// The hub's last answer, and when it arrived.
    last: Mutex<Option<(Instant, View)>>,
}

impl Common {
    pub(crate) fn new(contact: Contact) -> Self {
        Self {
            contact,
            incoming: Mutex::default(),
            wake: Notify::new(),
            is_leaving: AtomicBool::new(false),
            members: AtomicU32::new(1),
            last: Mutex::default(),
        }
    }

    /// Shares a breaker, which starts in the state of the hub's last answer.
    pub(crate) fn share_breaker(&self, mut breaker: SharedBreaker) {
        let last = lock(&self.last);
        if let Some((heard, view)) = &*last {
            let record = record_of(view, breaker.name());
            breaker.follow(&record, view.now.saturating_add(heard.elapsed()));
        }
        drop(last);
        lock(&self.incoming).push(breaker);
        self.wake.notify_one();
    }

    pub(crate) fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }
}

pub(crate) struct MemberTask {
    common: Arc<Common>,
    breakers: Vec<SharedBreaker>,
    outage: Outage,
    heartbeat_at: Instant,
    /// The number of consecutive failed rounds.
    failures: u32,
}

impl MemberTask {
    pub(crate) fn new(common: Arc<Common>) -> Self {
        Self {
            common,
            breakers: Vec::new(),
            outage: Outage::default(),
            heartbeat_at: Instant::now(),
            failures: 0,
        }
    }

    /// Contacts the hub for the first time.
    ///
    /// # Errors
    /// Fails if the hub refuses. If it cannot be reached, the task continues and reports the outage
    /// if the next round fails too: no listener can be registered yet.
    pub(crate) async fn begin(&mut self) -> HubResult<()> {
        match self.round().await {
            Err(refused @ HubError::Refused(_)) => Err(refused),
            _ => Ok(()),
        }
    }

    /// Runs until the member leaves; `done` is dropped at the end.
    pub(crate) async fn run(mut self, done: watch::Sender<()>) {
        let common = Arc::clone(&self.common);
        let mut last = Instant::now();
        let mut next = last + self.pause();
        while !common.is_leaving.load(Ordering::Relaxed) {
            let attention = self.breakers.iter().filter_map(SharedBreaker::wants_attention_at);
            let attention = attention.min().unwrap_or(next).min(next);
            let is_woken = timeout_at(attention, common.wake.notified()).await.is_ok();
            if is_woken {
                sleep_until(last + SOONEST).await;
            }
            let now = Instant::now();
            for breaker in &mut self.breakers {
                breaker.attend(now);
            }
            if is_woken || now >= next {
                last = now;
                let result = self.round().await;
                self.outage.note(&common.contact, result.as_ref().err());
                next = last + self.pause();
            }
        }
        let _lost = self.common.contact.leave().await;
        drop(done);
    }

    /// Returns how long until the next poll.
    fn pause(&self) -> Duration {
        let longest = POLL.saturating_mul(1 << self.failures.min(5)).min(RETRY);
        random_between(longest / 4 * 3, longest)
    }

    /// Polls the hub, acts on the answer, and remembers whether there was one.
    async fn round(&mut self) -> HubResult<()> {
        self.breakers.append(&mut lock(&self.common.incoming));
        let result = self.speak().await;
        self.failures = if result.is_ok() { 0 } else { self.failures.saturating_add(1) };
        if result.is_err() {
            self.breakers.iter_mut().for_each(SharedBreaker::report_again);
            self.heartbeat_at = Instant::now();
        }
        result
    }

    async fn speak(&mut self) -> HubResult<()> {
        let common = Arc::clone(&self.common);
        let contact = &common.contact;
        let now = Instant::now();
        let beat = self.beat(now);
        let view = contact.poll(&beat).await?;
        let answered = Instant::now();
        if let Some(members) = view.members {
            // A heartbeat goes with a poll, which may be a whole pause later.
            let early = POLL + random_between(Duration::ZERO, HEARTBEAT / 8);
            self.heartbeat_at = now + HEARTBEAT - early;
            common.members.store(members.max(1), Ordering::Relaxed);
            #[cfg(feature = "metrics")]
            {
                crate::observe::metrics::members(&contact.fleet, members);
                crate::observe::metrics::hub_up(&contact.fleet, true);
            }
        }
        let members = common.members.load(Ordering::Relaxed);
        for breaker in &mut self.breakers {
            if let Some(report) = beat.reports.iter().find(|one| one.breaker == breaker.name()) {
                breaker.reported(report, now);
            }
            let record = record_of(&view, breaker.name());
            let tally = view.tallies.iter().find(|(name, _)| name == breaker.name());
            let tally = tally.map(|(_, tally)| *tally);
            let hub_now = view.now + answered.elapsed();
            breaker.follow_record(contact, &record, tally, members, hub_now).await?;
        }
        *lock(&common.last) = Some((answered, view));
        Ok(())
    }

    fn beat(&mut self, now: Instant) -> Beat {
        let mut reports = Vec::new();
        let mut tallies = Vec::new();
        for breaker in &mut self.breakers {
            let report = breaker.report(now);
            if breaker.wants_tally(report.as_ref()) {
                tallies.push(breaker.name().to_owned());
            }
            reports.extend(report);
        }
        Beat {
            member: self.common.contact.id.clone(),
            heartbeat: now >= self.heartbeat_at,
            alive: ALIVE,
            reports,
            tallies,
            lately: CALLER_WINDOW,
        }
    }
}

fn record_of(view: &View, name: &str) -> crate::rules::fleet_breaker::FleetBreaker {
    let found = view.breakers.iter().find(|(breaker, _)| breaker == name);
    found.map(|(_, record)| record.clone()).unwrap_or_default()
}
