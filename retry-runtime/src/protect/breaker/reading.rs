//! The readable values of a breaker: its state, the rest of its open time, its numbers, its name.

use core::time::Duration;

use retry_rules::BreakerConfig;

use super::packed_state::{History, Mode, StagePass};
use super::window::CallCounts;
use super::{CircuitBreaker, FOR_EVER, OnTransition, TransitionListener};
use crate::base::clock;
use crate::base::random;
use crate::base::sync::{Arc, Ordering};
use crate::event::snapshot::Snapshot;
use crate::event::transition::{State, Transition};
use crate::protect::clock_nanos;

impl CircuitBreaker {
    /// Returns the state of the breaker.
    ///
    /// An open breaker whose open time is over stays [`State::Open`] until a call probes it;
    /// [`is_open`](Self::is_open) says whether that call would be rejected.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// assert_eq!(breaker.state(), State::Open);
    /// ```
    pub fn state(&self) -> State {
        self.packed().mode().state()
    }

    /// Returns `true` if a call would be rejected now because the breaker is open and its open time
    /// is not over. Costs one load when closed. Always `false` if the breaker only observes.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert!(!breaker.is_open());
    /// ```
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.packed().is_closed() && !self.observes() && !self.remaining().is_zero()
    }

    /// Returns how long until the breaker admits a call: zero if it would now, or `None` if it is
    /// open until reset. While calls are held, it is at least the rest of the hold. Costs one load
    /// when closed.
    ///
    /// While it is half-open with all probes running, this is the time until the oldest of them
    /// loses its slot; the first one to report makes room earlier. In a stage of a
    /// [gradual](retry_rules::HalfOpen::Gradual) half-open state, it is zero only if the next call
    /// is one of those that are admitted. Otherwise it is the rest of the stage, or the time until
    /// its running calls are no longer waited for, jittered.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert_eq!(breaker.until_admits(), Some(Duration::ZERO));
    /// breaker.force_open();
    /// assert_eq!(breaker.until_admits(), None);
    /// ```
    #[inline]
    pub fn until_admits(&self) -> Option<Duration> {
        if self.packed().is_closed() {
            Some(Duration::ZERO)
        } else {
            (self.machine.until_probed)(self, None)
        }
    }

    /// Returns how long until a waiting call, whose last refusal has left a `pass`, is to try
    /// again. Each stage refuses it once at most.
    pub(crate) fn until_may_try(&self, pass: StagePass) -> Option<Duration> {
        (self.machine.until_probed)(self, Some(pass))
    }

    /// Returns whether a call that has failed may be retried after a wait of its own. In a stage,
    /// that is a call of which a stage has admitted an attempt: a place that is free now is not
    /// kept for it. Where calls are held for longest, it may, because its wait lasts until the end
    /// of the hold.
    pub(crate) fn admits_retry(&self, pass: StagePass) -> bool {
        let packed = self.packed();
        if packed.is_held() && self.is_held_longest() {
            true
        } else if packed.mode() == Mode::Gradual && !self.observes() {
            pass.history(packed) == History::Admitted
        } else {
            self.until_admits() == Some(Duration::ZERO)
        }
    }

    /// The pass of a call that has just been refused. If the stage has ended since, the call misses
    /// the next one.
    #[cold]
    pub(crate) fn pass_of_refused(&self) -> StagePass {
        let inner = self.lock();
        let packed = self.packed();
        if packed.mode() == Mode::Gradual {
            StagePass::refused(packed, inner.stages.stage())
        } else {
            StagePass::NONE
        }
    }

    #[cold]
    pub(super) fn until_probed(&self, waiting: Option<StagePass>) -> Option<Duration> {
        if self.observes() {
            return Some(Duration::ZERO);
        }
        self.until_state_admits(waiting).map(|until| until.max(self.held_for()))
    }

    fn until_state_admits(&self, waiting: Option<StagePass>) -> Option<Duration> {
        let inner = self.lock();
        let packed = self.packed();
        match packed.mode() {
            Mode::Open => Some(self.remaining()).filter(|remaining| *remaining != Duration::MAX),
            Mode::HalfOpen => Some(inner.probes.until_free(
                clock::now(),
                self.max_probes(&inner),
                self.config.get_timeout(),
            )),
            // Not at the same time for all who wait.
            Mode::Gradual => {
                let now = clock_nanos::now();
                let rest = match waiting {
                    Some(pass) => inner.stages.until_may_try(now, pass.history(packed)),
                    None => inner.stages.until_admits(now),
                };
                Some(random::between(rest, rest.saturating_mul(2)))
            }
            _ => Some(Duration::ZERO),
        }
    }

    /// Returns how long the breaker stays open: zero if it is not open or its open time is over,
    /// and [`Duration::MAX`] if it is open until reset.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert_eq!(breaker.remaining(), Duration::ZERO);
    /// breaker.force_open();
    /// assert_eq!(breaker.remaining(), Duration::MAX);
    /// ```
    pub fn remaining(&self) -> Duration {
        if self.packed().mode() != Mode::Open {
            return Duration::ZERO;
        }
        match self.open_until.load(Ordering::Relaxed) {
            FOR_EVER => Duration::MAX,
            until => Duration::from_nanos(until.saturating_sub(clock_nanos::now())),
        }
    }

    /// Returns the state and numbers of the breaker, for people and dashboards.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.try_acquire().unwrap().failure();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 1);
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        let mode = self.packed().mode();
        let by_rate = Mode::closed_by(&self.config).is_measured();
        let CallCounts { calls, failures, slow } = if !by_rate {
            CallCounts::NONE
        } else if mode.is_measured() {
            inner.window.tally(clock_nanos::now())
        } else {
            inner.last_closed
        };
        Snapshot {
            name: self.name.clone(),
            state: self.state(),
            forced: inner.forced,
            by_fleet: inner.by_fleet,
            consecutive_failures: match (self.config.is_by_streak(), by_rate) {
                (false, _) => 0,
                // Of the closed breaker, unless a stage has begun since.
                (true, false) if mode != Mode::Gradual && inner.streak == 0 => {
                    self.streak.failures()
                }
                (true, _) => inner.streak,
            },
            calls,
            failures,
            slow_calls: slow,
            probes: inner.probes.count(),
            probe_successes: inner.probes.successes(),
            remaining: self.remaining(),
            held: self.held_for(),
            reopenings: inner.reopenings,
            opened_by: inner.opened_by.clone(),
            outcomes: self.counters.read(by_rate.then_some(inner.successes)),
        }
    }

    /// Calls `listener` at each change of state from now on.
    ///
    /// Listeners are called in the order of the changes, one change after another, by one
    /// of the threads that caused them, with no lock held: a listener may use the
    /// breaker. A listener that panics is called again at the next change.
    /// [`remove_listener`](Self::remove_listener) ends it.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    ///
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// let log = Arc::clone(&seen);
    /// breaker.on_transition(move |transition| log.lock().unwrap().push(transition.to));
    ///
    /// breaker.force_open();
    /// assert_eq!(*seen.lock().unwrap(), [State::Open]);
    /// ```
    pub fn on_transition(
        &self,
        listener: impl Fn(&Transition) + Send + Sync + 'static,
    ) -> TransitionListener {
        let listener: Arc<OnTransition> = Arc::new(listener);
        self.listeners.add(Arc::clone(&listener));
        TransitionListener(listener)
    }

    /// Stops a listener: no later change of state reaches it. One of another breaker is ignored.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    ///
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// let log = Arc::clone(&seen);
    /// let listener = breaker.on_transition(move |transition| log.lock().unwrap().push(transition.to));
    ///
    /// breaker.force_open();
    /// breaker.remove_listener(&listener);
    /// breaker.reset();
    /// assert_eq!(*seen.lock().unwrap(), [State::Open]);
    /// ```
    pub fn remove_listener(&self, listener: &TransitionListener) {
        self.listeners.remove(&listener.0);
    }

    retry_rules::accessors! {
        /// Returns the name that appears in events.
        ///
        /// ```
        /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
        /// assert_eq!(CircuitBreaker::new("db", BreakerConfig::new()).name(), "db");
        /// ```
        pub fn name(&self) -> &str { &name }

        /// Returns the settings.
        ///
        /// ```
        /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
        /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
        /// assert_eq!(breaker.config().get_failure_threshold(), 5);
        /// ```
        pub const fn config(&self) -> &BreakerConfig { &config }
    }
}
