//! The circuit breaker: after enough failures calls are refused for a while,
//! then a few probes decide whether they go through again.
//!
//! [`CircuitBreaker`] is the state machine; what it counts with, and what it
//! hands out, is in the files beside it. It does not retry: the session asks it
//! for a [`Permit`] before each attempt.
//!
//! The pattern is Michael Nygard's (*Release It!*, 2007); the window of calls or
//! of time is resilience4j's.

mod permit;
mod probes;
mod rejected;
mod snapshot;
mod stamp;
mod streak;
mod window;
mod word;

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use retry_rules::{BreakerConfig, Invalid};

use self::probes::{Probes, Reporter};
use self::streak::Streak;
use self::window::{Outcome, Tally, Window};
use self::word::{FIRST_GENERATION, Kind, Tag, Word};
use crate::base::clock;
use crate::base::const_panic::const_panic;
use crate::base::listeners::{Listeners, contain_panic};
use crate::base::name::Name;
use crate::base::random;
use crate::base::sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering, const_fn, lock};
use crate::event::transition::{Cause, State, Transition};

pub use self::permit::Permit;
pub use self::rejected::Rejected;
pub use self::snapshot::Snapshot;

/// Stops calls to what does not answer, and finds out when it answers again.
///
/// *Closed*, it lets calls through and counts their failures; after
/// `failure_threshold` consecutive ones (5 unless set), or at a failure rate,
/// it opens. *Open*, it refuses calls for `timeout` (30 s unless set). Then it
/// is *half-open*: `half_open_requests` calls at a time (3 unless set) go
/// through as probes. `success_threshold` successes (3 unless set) close it, and
/// one failure opens it again; where slow calls count, a slow probe is a failed
/// one. A probe of which nothing is heard for `timeout` gives its place to another.
///
/// Rates are looked at when a call fails or is slow. A window of time moves on
/// by a tenth of its span at a time.
///
/// It is shared by reference, as a `static` or in an `Arc`; there is no `Clone`,
/// for a copy would have a state of its own. While a breaker that counts
/// consecutive failures is closed and nothing fails, a call takes no lock, reads
/// no clock and writes to no shared memory.
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
    /// Where rates decide, what they are measured over.
    window: Window,
    /// What the window counted when the breaker was last closed.
    last_closed: Tally,
    forced: bool,
    probes: Probes,
    /// Transitions that nobody has announced yet, in their order.
    unannounced: VecDeque<Transition>,
    /// Whether a thread is at it; the others leave theirs to it, to keep the order.
    announcing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Success,
    Failure,
    None,
}

const fn closed_kind(config: &BreakerConfig) -> Kind {
    if config.get_slow_calls().is_some() {
        Kind::Timed
    } else if config.is_by_rate() {
        Kind::Measured
    } else {
        Kind::Closed
    }
}

impl CircuitBreaker {
    const_fn! {
    /// Creates a closed breaker. The name stands in events and in [`Rejected`].
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

    /// Creates a breaker as [`new`](Self::new) does, with a name that the program made.
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

    /// Creates a breaker with settings that come from a file.
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
    const fn valid(name: Name, config: BreakerConfig) -> Self {
        Self {
            word: AtomicU64::new(Word::first(closed_kind(&config)).0),
            open_until: AtomicU64::new(FOR_EVER),
            streak: Streak::new(FIRST_GENERATION),
            config,
            name,
            inner: CacheLine(Mutex::new(Inner {
                window: Window::new(&config),
                last_closed: Tally::NONE,
                forced: false,
                probes: Probes::new(),
                unannounced: VecDeque::new(),
                announcing: false,
            })),
            listeners: Listeners::new(),
        }
    }
    }

    /// The leave to make one call now.
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

    /// What the breaker does with calls.
    ///
    /// An open breaker whose time is up stays [`State::Open`] until a call comes
    /// to probe; [`is_open`](Self::is_open) tells whether that call would be refused.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// assert_eq!(breaker.state(), State::Open);
    /// ```
    pub fn state(&self) -> State {
        state_of(self.word())
    }

    /// Whether a call would be refused now because the breaker is open and its
    /// time is not up. Closed, that costs one load.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert!(!breaker.is_open());
    /// ```
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.word().is_closed() && !self.remaining().is_zero()
    }

    /// How long the breaker stays open: zero if it is not, or its time is up,
    /// and [`Duration::MAX`] if it is open until somebody resets it.
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

    /// What the breaker knows, for people and dashboards.
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
        Snapshot {
            state: self.state(),
            forced: inner.forced,
            consecutive_failures: self.streak.failures(),
            calls,
            failures,
            slow_calls: slow,
            probes: inner.probes.count(),
            probe_successes: inner.probes.successes(),
            remaining: self.remaining(),
        }
    }

    /// Opens the breaker until [`reset`](Self::reset) or
    /// [`force_closed`](Self::force_closed).
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

    /// Lets every call through, whatever becomes of it, until
    /// [`reset`](Self::reset) or [`force_open`](Self::force_open).
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
        self.change(closed_kind(&self.config), Cause::Reset);
    }

    /// Goes on where the breaker of another process was: in this state, with so
    /// many consecutive failures, and open for so long from now on
    /// ([`Duration::MAX`]: until somebody resets it). Nothing is known of the probes
    /// of that process, so half-open is taken for an open time that is up.
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
                self.transition(&mut inner, closed_kind(&self.config), Cause::Restored);
                self.streak.set(self.word().generation(), consecutive_failures);
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
    /// Listeners are called in the order of the changes, one change after
    /// another, by one of the threads that caused them, while no lock is held:
    /// a listener may use the breaker. A listener that panics is left alone
    /// until the next change. There is no way to remove one.
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

    /// The name that stands in events.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// assert_eq!(CircuitBreaker::new("db", BreakerConfig::new()).name(), "db");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert_eq!(breaker.config().get_failure_threshold(), 5);
    /// ```
    pub const fn config(&self) -> &BreakerConfig {
        &self.config
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

    /// Any admission but that of a closed breaker which counts consecutive failures.
    #[inline(never)]
    fn acquire(&self, word: Word) -> Result<Permit<'_>, Rejected> {
        match word.kind() {
            Kind::Closed | Kind::Measured | Kind::Forced => {
                Ok(Permit::new(self, Tag::untimed(word)))
            }
            Kind::Timed => Ok(Permit::new(self, Tag::timed(word, stamp::nanos()))),
            Kind::Open => {
                let remaining = self.remaining();
                if remaining.is_zero() { self.probe() } else { Err(self.rejected(remaining)) }
            }
            Kind::HalfOpen => self.probe(),
        }
    }

    fn rejected(&self, remaining: Duration) -> Rejected {
        Rejected { breaker: self.name.clone(), remaining }
    }

    #[cold]
    fn probe(&self) -> Result<Permit<'_>, Rejected> {
        let mut inner = self.lock();
        let word = self.word();
        match word.kind() {
            Kind::HalfOpen => {}
            Kind::Open => {
                let remaining = self.remaining();
                if !remaining.is_zero() {
                    return Err(self.rejected(remaining));
                }
                self.transition(&mut inner, Kind::HalfOpen, Cause::TimeUp);
            }
            // Somebody closed it in the meantime.
            _ => {
                drop(inner);
                return self.acquire(word);
            }
        }
        // The clock is read under the lock, so that probes stand in the order of their times.
        let admitted = inner.probes.admit(
            clock::now(),
            self.config.get_half_open_requests(),
            self.config.get_timeout(),
        );
        // Made before the announcement: a permit whose thread dies there is given back.
        let answer = match admitted {
            Some(id) => Ok(Permit::new(self, Tag::probe(id))),
            None => Err(self.rejected(Duration::ZERO)),
        };
        self.announce_all(inner);
        answer
    }

    #[inline]
    fn succeed_closed(&self, tag: Tag) {
        if self.streak.failures() != 0 {
            self.end_streak(tag);
        }
    }

    #[cold]
    fn end_streak(&self, tag: Tag) {
        self.streak.clear(tag.generation());
    }

    #[cold]
    fn fail(&self, tag: Tag) {
        self.report(tag, Verdict::Failure);
    }

    #[inline(never)]
    fn report(&self, tag: Tag, verdict: Verdict) {
        match (tag.kind(), verdict) {
            (Kind::HalfOpen, _) => self.report_probe(tag, verdict),
            (Kind::Forced | Kind::Open, _) | (_, Verdict::None) => {}
            (Kind::Closed, Verdict::Success) => self.succeed_closed(tag),
            (Kind::Closed, Verdict::Failure) => self.fail_closed(tag),
            (Kind::Measured | Kind::Timed, _) => {
                self.measure(tag, verdict == Verdict::Failure);
            }
        }
    }

    #[cold]
    fn fail_closed(&self, tag: Tag) {
        let failures = self.streak.add(tag.generation());
        if failures.is_some_and(|failures| failures >= self.config.get_failure_threshold()) {
            self.open(tag, Cause::Failures);
        }
    }

    fn measure(&self, tag: Tag, failed: bool) {
        let is_timed = tag.kind() == Kind::Timed;
        // Read before the lock is taken, for others wait for that.
        let now = if is_timed || self.window_is_of_time() { stamp::nanos() } else { 0 };
        let slow = is_timed && self.is_slow(tag.elapsed(now));

        let mut inner = self.lock();
        if !tag.is_of(self.word()) {
            return;
        }
        if let Some(cause) = inner.window.record(&self.config, now, Outcome { failed, slow }) {
            self.transition(&mut inner, Kind::Open, cause);
            self.announce_all(inner);
        }
    }

    const fn window_is_of_time(&self) -> bool {
        matches!(self.config.get_window(), retry_rules::Window::Time(_))
    }

    fn is_slow(&self, took: Duration) -> bool {
        self.config.get_slow_calls().is_some_and(|slow| took > slow.longer_than())
    }

    /// Opens the breaker if it is still as it was when the call was admitted.
    #[cold]
    fn open(&self, tag: Tag, cause: Cause) {
        let mut inner = self.lock();
        if tag.is_of(self.word()) {
            self.transition(&mut inner, Kind::Open, cause);
        }
        self.announce_all(inner);
    }

    #[cold]
    fn report_probe(&self, tag: Tag, verdict: Verdict) {
        let mut inner = self.lock();
        if self.word().kind() != Kind::HalfOpen {
            return;
        }
        let slow = match inner.probes.release(tag.probe_id()) {
            Reporter::Past => return,
            Reporter::Overdue => self.config.get_slow_calls().is_some(),
            Reporter::UnderWay { admitted_at } => {
                self.config.get_slow_calls().is_some()
                    && self.is_slow(clock::now().saturating_duration_since(admitted_at))
            }
        };
        match verdict {
            Verdict::None => {}
            Verdict::Failure => self.transition(&mut inner, Kind::Open, Cause::ProbeFailed),
            Verdict::Success if slow => self.transition(&mut inner, Kind::Open, Cause::ProbeSlow),
            Verdict::Success => {
                if inner.probes.succeed() >= self.config.get_success_threshold() {
                    let closed = closed_kind(&self.config);
                    self.transition(&mut inner, closed, Cause::Recovered);
                }
            }
        }
        self.announce_all(inner);
    }

    /// A change that somebody asked for.
    #[cold]
    fn change(&self, to: Kind, cause: Cause) {
        let mut inner = self.lock();
        self.transition(&mut inner, to, cause);
        self.announce_all(inner);
    }

    fn transition(&self, inner: &mut Inner, to: Kind, cause: Cause) {
        let from = self.word();
        let next = from.next(to);
        inner.forced = cause == Cause::Forced;
        inner.probes.restart();
        if from.kind().is_measured() {
            inner.last_closed = inner.window.tally(stamp::nanos());
        }
        match to {
            Kind::Open => {
                let until = if inner.forced {
                    FOR_EVER
                } else {
                    stamp::nanos().saturating_add(stamp::nanos_of(self.open_time()))
                };
                self.open_until.store(until, Ordering::Relaxed);
            }
            Kind::Closed => self.streak.restart(next.generation()),
            Kind::Measured | Kind::Timed => inner.window.clear(),
            Kind::HalfOpen | Kind::Forced => {}
        }
        self.word.store(next.0, Ordering::Release);

        let (from, to) = (state_of(from), state_of(next));
        if from != to {
            let breaker = self.name.clone();
            inner.unannounced.push_back(Transition { breaker, from, to, cause });
        }
    }

    /// `timeout`, and up to the share `timeout_jitter` more.
    fn open_time(&self) -> Duration {
        let timeout = self.config.get_timeout();
        let share = self.config.get_timeout_jitter();
        if share == 0.0 {
            return timeout;
        }
        let more = Duration::try_from_secs_f64(timeout.as_secs_f64() * share);
        random::between(timeout, timeout.saturating_add(more.unwrap_or(Duration::MAX)))
    }

    /// Gives up the lock, and announces what happened under it.
    fn announce_all<'a>(&'a self, mut inner: MutexGuard<'a, Inner>) {
        if inner.announcing {
            return;
        }
        while let Some(transition) = inner.unannounced.pop_front() {
            inner.announcing = true;
            drop(inner);
            contain_panic(|| self.announce(&transition));
            inner = self.lock();
        }
        inner.announcing = false;
    }

    fn announce(&self, transition: &Transition) {
        crate::observe::breaker_transition(transition);
        self.listeners.notify(|listener| listener(transition));
    }
}

const fn state_of(word: Word) -> State {
    match word.kind() {
        Kind::Closed | Kind::Measured | Kind::Timed | Kind::Forced => State::Closed,
        Kind::Open => State::Open,
        Kind::HalfOpen => State::HalfOpen,
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
