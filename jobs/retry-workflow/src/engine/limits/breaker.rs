//! [`JobBreaker`]: the breaker of a whole job. It decides when items may start; the store keeps it
//! for the next process, and shares it with others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use retry_runtime::{BreakerConfig, CircuitBreaker, State};

use crate::item::clock::Timestamp;
use crate::job::breaker_record::BreakerRecord;
use crate::job::event::{JobEvent, JobListener};
use crate::job::record::Job;
use crate::store::{Store, StoreError};

/// The breaker of a whole job.
#[derive(Clone)]
pub(in crate::engine) struct JobBreaker {
    circuit: Arc<CircuitBreaker>,
    key: Arc<str>,
    /// Set if the state has changed since it was last shared.
    moved: Arc<AtomicBool>,
    shared: Arc<Mutex<LastKnown>>,
}

/// The last state known to be in the store.
#[derive(Clone, Debug, Default)]
struct LastKnown {
    revision: u64,
    stored: Option<BreakerRecord>,
}

impl JobBreaker {
    /// The breaker of this job, in the state in which the last process left it.
    pub(in crate::engine) async fn open(
        store: &dyn Store,
        job: &Job,
        config: BreakerConfig,
        listeners: Vec<JobListener>,
    ) -> Result<Self, StoreError> {
        let breaker = Self {
            circuit: Arc::new(CircuitBreaker::named(job.name.clone(), config)),
            key: BreakerRecord::key(&job.id).into(),
            moved: Arc::default(),
            shared: Arc::default(),
        };
        breaker.clone().share(store).await?;
        let moved = Arc::clone(&breaker.moved);
        breaker.circuit.on_transition(move |transition| {
            moved.store(true, Ordering::Release);
            for listener in &listeners {
                listener(&JobEvent::Breaker(transition));
            }
        });
        Ok(breaker)
    }

    /// Returns whether the state has changed since it was last shared.
    pub(in crate::engine) fn has_moved(&self) -> bool {
        self.moved.load(Ordering::Acquire)
    }

    pub(in crate::engine) fn circuit(&self) -> &Arc<CircuitBreaker> {
        &self.circuit
    }

    /// Shares a hold that may have begun: it is not a transition.
    pub(in crate::engine) fn note_hold(&self) {
        if !self.circuit.held_for().is_zero() {
            self.moved.store(true, Ordering::Release);
        }
    }

    /// Returns how long no item starts: until the open time and the hold have ended.
    pub(in crate::engine) fn rejects_for(&self) -> Duration {
        self.open_for().max(self.circuit.held_for())
    }

    /// Returns how long the breaker stays open; zero if it is not.
    pub(in crate::engine) fn open_for(&self) -> Duration {
        if self.circuit.is_open() { self.circuit.remaining() } else { Duration::ZERO }
    }

    /// Returns whether running items are probes.
    pub(in crate::engine) fn is_half_open(&self) -> bool {
        self.circuit.state() == State::HalfOpen
    }

    /// Returns whether one more item may start beside those that are running.
    pub(in crate::engine) fn admits(&self, running: usize) -> bool {
        match self.circuit.state() {
            _ if !self.circuit.held_for().is_zero() => false,
            State::Closed => true,
            _ => !self.circuit.is_open() && running < self.probes(),
        }
    }

    /// Returns how many leases it makes sense to hold.
    pub(in crate::engine) fn most_held(&self) -> usize {
        if self.circuit.state() == State::Closed { usize::MAX } else { self.probes() }
    }

    fn probes(&self) -> usize {
        usize::try_from(self.circuit.config().get_half_open_requests()).unwrap_or(usize::MAX)
    }

    /// Adopts what another process has stored since the last time; otherwise stores what has
    /// changed here.
    pub(in crate::engine) async fn share(self, store: &dyn Store) -> Result<(), StoreError> {
        self.moved.store(false, Ordering::Release);
        let (revision, stored) = store.json::<BreakerRecord>(&self.key).await?;
        let known = self.known();
        if revision > 0 && revision != known.revision {
            if let Some(stored) = &stored {
                self.take_over(stored, store.now());
            }
            self.know(LastKnown { revision, stored });
            return Ok(());
        }
        let now = store.now();
        let here = self.here(now);
        let is_default = known.stored.is_none()
            && here.state == State::Closed
            && here.consecutive_failures == 0
            && here.held_until.is_none();
        let is_like = |stored: &BreakerRecord| stored.at(now).is_like(&here);
        if is_default || known.stored.as_ref().is_some_and(is_like) {
            return Ok(());
        }
        if store.cas_json(&self.key, known.revision, &here).await? {
            self.know(LastKnown { revision: known.revision + 1, stored: Some(here) });
        }
        Ok(())
    }

    fn known(&self) -> LastKnown {
        self.shared.lock().clone()
    }

    fn know(&self, shared: LastKnown) {
        *self.shared.lock() = shared;
    }

    fn here(&self, now: Timestamp) -> BreakerRecord {
        let snapshot = self.circuit.snapshot();
        let is_open = snapshot.state == State::Open;
        BreakerRecord {
            state: snapshot.state,
            consecutive_failures: snapshot.consecutive_failures,
            open_until: is_open.then(|| now + snapshot.remaining),
            held_until: (!snapshot.held.is_zero()).then(|| now + snapshot.held),
        }
    }

    fn take_over(&self, stored: &BreakerRecord, now: Timestamp) {
        let until = stored.open_until;
        let remaining = until.map_or(Duration::ZERO, |until| until.since(now));
        self.circuit.restore(stored.state, stored.consecutive_failures, remaining);
        if let Some(until) = stored.held_until {
            self.circuit.hold(until.since(now));
        }
    }
}
