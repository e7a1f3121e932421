//! The circuit breaker: after enough failures calls are refused for a while,
//! then a few probes decide whether they go through again.
//!
//! Here is what its users call; how it decides, what it counts with, and what it hands out
//! is in the files beside it. It does not retry: the session asks it for a [`Permit`]
//! before each attempt.
//!
//! The pattern is Michael Nygard's (*Release It!*, 2007); the window of calls or
//! of time is resilience4j's.

mod guarded_call;
mod led;
mod outcomes;
mod permit;
mod probes;
mod rejected;
mod snapshot;
mod state_machine;
mod streak;
mod window;
mod word;

use core::fmt;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::collections::VecDeque;

use retry_rules::{BreakerConfig, Invalid};

use self::led::ProbeLoan;
use self::outcomes::Counters;
use self::probes::Probes;
use self::streak::Streak;
use self::window::{Tally, Window};
use self::word::{FIRST_GENERATION, Kind, Tag, Word};
use crate::base::clock;
use crate::base::const_panic::const_panic;
use crate::base::listeners::Listeners;
use crate::base::name::Name;
use crate::base::sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering, const_fn, lock};
use crate::event::transition::{Cause, State, Transition};
use crate::protect::stamp;

pub use self::led::Lead;
pub use self::outcomes::Outcomes;
pub use self::permit::{OwnedPermit, Permit};
pub use self::rejected::Rejected;
pub use self::snapshot::Snapshot;

/// Stops calls to a dependency that does not respond, and finds out when it does again.
///
/// *Closed*, it lets calls through and counts their failures; after `failure_threshold`
/// consecutive ones (5 unless set), at a failure rate, or at whichever comes first, it
/// opens. *Open*, it rejects calls for `timeout` (30 s unless set), which `timeout_growth`
/// lengthens each time a probe fails. Then it is *half-open*: `half_open_requests` calls
/// at a time (3 unless set) go through as probes. `success_threshold` successes (3 unless
/// set) close it, and one failure opens it again; if slow calls count, a slow probe is a
/// failed one. A probe that does not report for `timeout` gives its place to another, and
/// may still report.
///
/// With `observe_only` it does all that, and rejects nothing: its state, events and
/// numbers show what it would have done.
///
/// Rates are checked when a call fails or is slow. A time window advances by a tenth of
/// its span at a time.
///
/// It is shared by reference, as a `static` or in an `Arc`; there is no `Clone`, because
/// a copy would have its own state. While a breaker that counts consecutive failures is
/// closed and nothing fails, a call takes no lock, reads no clock and writes to no shared
/// memory.
///
/// ```
/// use core::time::Duration;
/// use retry_runtime::{BreakerConfig, CircuitBreaker, State};
///
/// static DB: CircuitBreaker = CircuitBreaker::new(
///     "db",
///     BreakerConfig::new().failure_threshold(2).timeout(Duration::from_secs(10)),
/// );
///
/// for _ in 0..2 {
///     DB.try_acquire().expect("closed").failure();
/// }
/// assert_eq!(DB.state(), State::Open);
/// assert!(DB.try_acquire().is_err());
/// ```
pub struct CircuitBreaker {
    /// A [`Word`]; written only under the lock of `inner`.
    word: AtomicU64,
    /// Until when it is open, as a [`stamp`]; [`FOR_EVER`]: until somebody resets it. Written
    /// before the `word` that opens it, so that a call is refused without the lock.
    open_until: AtomicU64,
    streak: Streak,
    config: BreakerConfig,
    pub(super) name: Name,
    counters: Counters,
    /// Whether a call came since somebody asked; written only where calls are noted.
    called: AtomicBool,
    inner: CacheLine<Mutex<Inner>>,
    listeners: Listeners<Listener>,
}

type Listener = dyn Fn(&Transition) + Send + Sync;

/// No time ends it.
const FOR_EVER: u64 = u64::MAX;

/// Begins a line of the cache, so that the threads which write it do not disturb those
/// which only read what stands before it.
#[repr(align(64))]
struct CacheLine<T>(T);

/// What a closed breaker that counts consecutive failures does not need.
#[repr(C)]
struct Inner {
    /// Calls that succeeded where rates decide, and probes.
    successes: u64,
    /// Consecutive failures where rates decide, too.
    streak: u32,
    /// Where rates decide, what they are measured over.
    window: Window,
    /// What the window counted when the breaker was last closed.
    last_closed: Tally,
    forced: bool,
    /// Whether a fleet has set its state.
    led: bool,
    /// The probes that a fleet lets it make, while it is half-open.
    loan: Option<ProbeLoan>,
    /// How often it has opened again since it was last closed.
    reopenings: u32,
    /// The failure that has opened it last.
    opened_by: Option<Arc<str>>,
    probes: Probes,
    /// Transitions that nobody has announced yet, in their order.
    unannounced: VecDeque<Transition>,
    /// Whether a thread is at it; the others leave theirs to it, to keep the order.
    announcing: bool,
}

impl CircuitBreaker {
    const_fn! {
    /// Creates a closed breaker. The name appears in events and in [`Rejected`].
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert!(DB.try_acquire().is_ok());
    /// ```
    ///
    /// # Panics
    /// If the settings break a rule; while compiling, for a `static`:
    ///
    /// ```compile_fail
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// static DB: CircuitBreaker =
    ///     CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(0));
    /// # DB.state();
    /// ```
    #[track_caller]
    pub const fn new(name: &'static str, config: BreakerConfig) -> Self {
        if let Err(invalid) = config.validate() {
            const_panic(invalid)
        }
        Self::valid(Name::from_static(name), config)
    }
    }

    /// Creates a breaker as [`new`](Self::new) does, with a name made at run time.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let host = "example.org";
    /// let breaker = CircuitBreaker::named(format!("host {host}"), BreakerConfig::new());
    /// assert_eq!(breaker.name(), "host example.org");
    /// ```
    ///
    /// # Panics
    /// If the settings break a rule.
    #[track_caller]
    pub fn named(name: impl Into<Name>, config: BreakerConfig) -> Self {
        match Self::try_new(name, config) {
            Ok(breaker) => breaker,
            Err(invalid) => const_panic(invalid),
        }
    }

    /// Creates a breaker with settings from a file.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let error = CircuitBreaker::try_new("db", BreakerConfig::new().failure_threshold(0));
    /// assert!(error.unwrap_err().to_string().contains("at least 1"));
    /// ```
    ///
    /// # Errors
    /// The rules that the settings break.
    pub fn try_new(name: impl Into<Name>, config: BreakerConfig) -> Result<Self, Invalid> {
        config.validate().map(|()| Self::valid(name.into(), config))
    }

    const_fn! {
    pub(super) const fn valid(name: Name, config: BreakerConfig) -> Self {
        Self {
            word: AtomicU64::new(Word::first(Kind::closed_by(&config)).0),
            open_until: AtomicU64::new(FOR_EVER),
            streak: Streak::new(FIRST_GENERATION),
            config,
            name,
            counters: Counters::new(),
            called: AtomicBool::new(false),
            inner: CacheLine(Mutex::new(Inner {
                successes: 0,
                streak: 0,
                window: Window::new(&config),
                last_closed: Tally::NONE,
                forced: false,
                led: false,
                loan: None,
                reopenings: 0,
                opened_by: None,
                probes: Probes::new(),
                unannounced: VecDeque::new(),
                announcing: false,
            })),
            listeners: Listeners::new(),
        }
    }
    }

    /// Returns a permit to make one call now.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// let permit = breaker.try_acquire().expect("a new breaker is closed");
    /// permit.success();
    /// ```
    ///
    /// # Errors
    /// [`Rejected`] while the breaker is open, and while it is half-open and
    /// `half_open_requests` probes are under way.
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_>, Rejected> {
        let word = self.word();
        if word.is_closed() {
            Ok(Permit::new(self, Tag::untimed(word)))
        } else {
            self.acquire(word)
        }
    }

    /// Returns what the breaker does with calls.
    ///
    /// An open breaker whose time is up stays [`State::Open`] until a call probes it;
    /// [`is_open`](Self::is_open) says whether that call would be rejected.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// assert_eq!(breaker.state(), State::Open);
    /// ```
    pub fn state(&self) -> State {
        self.word().kind().state()
    }

    /// Returns `true` if a call would be rejected now because the breaker is open and its
    /// time is not up. When closed, this costs one load. One that only observes rejects
    /// none.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert!(!breaker.is_open());
    /// ```
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.word().is_closed() && !self.observes() && !self.remaining().is_zero()
    }

    /// Returns how long until the breaker admits a call: zero if it would now, or `None`
    /// if it is open until reset. When closed, this costs one load.
    ///
    /// While it is half-open and its probes are taken, that is how long they may stay
    /// silent; the first one to report admits another earlier.
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
        if self.word().is_closed() { Some(Duration::ZERO) } else { self.until_probed() }
    }

    #[cold]
    fn until_probed(&self) -> Option<Duration> {
        if self.observes() {
            return Some(Duration::ZERO);
        }
        let inner = self.lock();
        match self.word().kind() {
            Kind::Open => Some(self.remaining()).filter(|remaining| *remaining != Duration::MAX),
            Kind::HalfOpen => Some(inner.probes.until_free(
                clock::now(),
                self.most_probes(&inner),
                self.config.get_timeout(),
            )),
            _ => Some(Duration::ZERO),
        }
    }

    const fn observes(&self) -> bool {
        self.config.is_observe_only()
    }

    /// Returns how long the breaker stays open: zero if it is not, or its time is up, and
    /// [`Duration::MAX`] if it is open until reset.
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
        if self.word().kind() != Kind::Open {
            return Duration::ZERO;
        }
        match self.open_until.load(Ordering::Relaxed) {
            FOR_EVER => Duration::MAX,
            until => Duration::from_nanos(until.saturating_sub(stamp::nanos())),
        }
    }

    /// Returns what the breaker knows, for people and dashboards.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.try_acquire().unwrap().failure();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 1);
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        let Tally { calls, failures, slow } = if self.word().kind().is_measured() {
            inner.window.tally(stamp::nanos())
        } else {
            inner.last_closed
        };
        let by_rate = self.config.is_by_rate();
        Snapshot {
            name: self.name.clone(),
            state: self.state(),
            forced: inner.forced,
            led: inner.led,
            consecutive_failures: match (self.config.is_by_streak(), by_rate) {
                (false, _) => 0,
                (true, false) => self.streak.failures(),
                (true, true) => inner.streak,
            },
            calls,
            failures,
            slow_calls: slow,
            probes: inner.probes.count(),
            probe_successes: inner.probes.successes(),
            remaining: self.remaining(),
            reopenings: inner.reopenings,
            opened_by: inner.opened_by.clone(),
            outcomes: self.counters.read(by_rate.then_some(inner.successes)),
        }
    }

    /// Opens the breaker until [`reset`](Self::reset) or
    /// [`force_closed`](Self::force_closed). One that only observes still rejects nothing.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// assert!(breaker.try_acquire().is_err());
    /// ```
    pub fn force_open(&self) {
        self.change(Kind::Open, Cause::Forced);
    }

    /// Lets every call through, whatever its outcome, until [`reset`](Self::reset) or
    /// [`force_open`](Self::force_open).
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    /// breaker.force_closed();
    /// breaker.try_acquire().unwrap().failure();
    /// assert!(breaker.try_acquire().is_ok());
    /// ```
    pub fn force_closed(&self) {
        self.change(Kind::Forced, Cause::Forced);
    }

    /// Closes the breaker and forgets all that it counted.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// breaker.reset();
    /// assert_eq!(breaker.state(), State::Closed);
    /// ```
    pub fn reset(&self) {
        self.change(Kind::closed_by(&self.config), Cause::Reset);
    }

    /// Continues from the breaker of another process: in this state, with this many
    /// consecutive failures, and open for this long from now ([`Duration::MAX`]: until
    /// reset). That process's probes are unknown, so half-open counts as an open time
    /// that is up. If only rates decide, the failures are ignored; a growing open time
    /// starts over.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(5));
    /// breaker.restore(State::Closed, 4, Duration::ZERO);
    /// breaker.try_acquire().unwrap().failure();
    /// assert!(breaker.is_open());
    /// ```
    pub fn restore(&self, state: State, consecutive_failures: u32, remaining: Duration) {
        let mut inner = self.lock();
        match state {
            State::Closed => {
                self.transition(&mut inner, Kind::closed_by(&self.config), Cause::Restored);
                if self.config.is_by_rate() {
                    inner.streak = consecutive_failures;
                } else {
                    self.streak.set(self.word().generation(), consecutive_failures);
                }
            }
            State::Open | State::HalfOpen => {
                self.transition(&mut inner, Kind::Open, Cause::Restored);
                let until = match remaining {
                    _ if state == State::HalfOpen => stamp::nanos(),
                    Duration::MAX => FOR_EVER,
                    remaining => stamp::nanos().saturating_add(stamp::nanos_of(remaining)),
                };
                self.open_until.store(until, Ordering::Relaxed);
            }
        }
        self.announce_all(inner);
    }

    /// Calls `listener` at each change of state from now on.
    ///
    /// Listeners are called in the order of the changes, one change after another, by one
    /// of the threads that caused them, with no lock held: a listener may use the
    /// breaker. A listener that panics is called again at the next change. A listener
    /// cannot be removed.
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
    pub fn on_transition(&self, listener: impl Fn(&Transition) + Send + Sync + 'static) {
        self.listeners.add(Arc::new(listener));
    }

    /// Returns the name that appears in events.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// assert_eq!(CircuitBreaker::new("db", BreakerConfig::new()).name(), "db");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the settings.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert_eq!(breaker.config().get_failure_threshold(), 5);
    /// ```
    pub const fn config(&self) -> &BreakerConfig {
        &self.config
    }

    pub(super) const fn own_name(&self) -> &Name {
        &self.name
    }

    /// Whether it is closed, and not by force.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.word().kind(), Kind::Closed | Kind::Measured | Kind::Timed)
    }

    /// Lets the open time be up: models are to be independent of time.
    #[cfg(retry_loom)]
    #[doc(hidden)]
    pub fn end_open_time(&self) {
        self.open_until.store(stamp::nanos(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner.0)
    }

    #[inline]
    fn word(&self) -> Word {
        // Pairs with the store in `transition`: who sees a generation sees the
        // counters that were cleared for it.
        Word(self.word.load(Ordering::Acquire))
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("name", &self.name)
            .field("state", &self.state())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
