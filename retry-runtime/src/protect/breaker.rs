//! The circuit breaker: after enough failures calls are refused for a while,
//! then a few probes decide whether they go through again.
//!
//! [`CircuitBreaker`] is the state machine; what it counts with, and what it
//! hands out, is in the files beside it. It does not retry: the session asks it
//! for a [`Permit`] before each attempt.
//!
//! The pattern is Michael Nygard's (*Release It!*, 2007); the window of calls or
//! of time is resilience4j's.

mod guarded_call;
mod outcomes;
mod permit;
mod probes;
mod rejected;
mod snapshot;
mod streak;
mod window;
mod word;

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use retry_rules::{BreakerConfig, Invalid};

use self::outcomes::{Counted, Counters};
use self::probes::Probes;
use self::streak::Streak;
use self::window::{Outcome, Tally, Window};
use self::word::{FIRST_GENERATION, Kind, Tag, Word};
use crate::base::clock;
use crate::base::const_panic::const_panic;
use crate::base::full_text::full_text;
use crate::base::listeners::{Listeners, contain_panic};
use crate::base::name::Name;
use crate::base::random;
use crate::base::sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering, const_fn, lock};
use crate::event::transition::{Cause, State, Transition};
use crate::observe;
use crate::protect::stamp;

pub use self::outcomes::Outcomes;
pub use self::permit::{OwnedPermit, Permit};
pub use self::rejected::Rejected;
pub use self::snapshot::Snapshot;

/// Stops calls to what does not answer, and finds out when it answers again.
///
/// *Closed*, it lets calls through and counts their failures; after
/// `failure_threshold` consecutive ones (5 unless set), at a failure rate, or at
/// whichever of both comes first, it opens. *Open*, it refuses calls for `timeout`
/// (30 s unless set), which `timeout_growth` makes longer each time a probe fails. Then it
/// is *half-open*: `half_open_requests` calls at a time (3 unless set) go
/// through as probes. `success_threshold` successes (3 unless set) close it, and
/// one failure opens it again; where slow calls count, a slow probe is a failed
/// one. A probe of which nothing is heard for `timeout` gives its place to another,
/// and may still say how it went.
///
/// With `observe_only` it does all that, and refuses nothing: its state, its events and
/// its numbers tell what it would have done.
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
    counters: Counters,
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

/// What is said of a call.
#[derive(Clone, Copy)]
enum Verdict<'a> {
    Success,
    /// With the error, if it is known.
    Failure(Option<&'a dyn fmt::Display>),
    Neither,
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
    pub(super) const fn valid(name: Name, config: BreakerConfig) -> Self {
        Self {
            word: AtomicU64::new(Word::first(closed_kind(&config)).0),
            open_until: AtomicU64::new(FOR_EVER),
            streak: Streak::new(FIRST_GENERATION),
            config,
            name,
            counters: Counters::new(),
            inner: CacheLine(Mutex::new(Inner {
                successes: 0,
                streak: 0,
                window: Window::new(&config),
                last_closed: Tally::NONE,
                forced: false,
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
    /// time is not up. Closed, that costs one load. One that only observes refuses none.
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

    /// How long until the breaker admits a call: zero if it would now, and `None` if it
    /// is open until somebody resets it. Closed, that costs one load.
    ///
    /// While it is half-open and its probes are taken, that is how long they may stay
    /// silent; the first that reports admits one earlier.
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
                self.config.get_half_open_requests(),
                self.config.get_timeout(),
            )),
            _ => Some(Duration::ZERO),
        }
    }

    const fn observes(&self) -> bool {
        self.config.is_observe_only()
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
        let by_rate = self.config.is_by_rate();
        Snapshot {
            name: self.name.clone(),
            state: self.state(),
            forced: inner.forced,
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
    /// [`force_closed`](Self::force_closed). One that only observes still refuses nothing.
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
    /// of that process, so half-open is taken for an open time that is up. Where only
    /// rates decide, the failures are no news; an open time that grows begins anew.
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
                if remaining.is_zero() { self.probe() } else { self.reject(remaining) }
            }
            Kind::HalfOpen => self.probe(),
        }
    }

    /// Refuses a call; one that only observes lets it through, and hears nothing of it.
    fn reject(&self, remaining: Duration) -> Result<Permit<'_>, Rejected> {
        self.count(Counted::Rejected);
        if self.observes() {
            return Ok(Permit::new(self, Tag::UNHEARD));
        }
        Err(Rejected { breaker: self.name.clone(), remaining })
    }

    fn count(&self, counted: Counted) {
        self.counters.add(counted);
        let kind = match counted {
            Counted::Rejected if self.observes() => "would_reject",
            counted => counted.as_str(),
        };
        observe::breaker_call(&self.name, kind);
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
                    drop(inner);
                    return self.reject(remaining);
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
        let permit = admitted.map(|id| Permit::new(self, Tag::probe(id)));
        self.announce_all(inner);
        match permit {
            Some(permit) => Ok(permit),
            None => self.reject(Duration::ZERO),
        }
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
    fn fail(&self, tag: Tag, error: Option<&dyn fmt::Display>) {
        self.report(tag, Verdict::Failure(error));
    }

    #[cold]
    fn forgive(&self, tag: Tag) {
        self.report(tag, Verdict::Neither);
    }

    #[inline(never)]
    fn report(&self, tag: Tag, verdict: Verdict<'_>) {
        match (tag.kind(), verdict) {
            (Kind::Forced | Kind::Open, _) => {}
            (Kind::HalfOpen, _) => self.report_probe(tag, verdict),
            (_, Verdict::Neither) => self.count(Counted::Forgiven),
            (Kind::Closed, Verdict::Success) => self.succeed_closed(tag),
            (Kind::Closed, Verdict::Failure(error)) => self.fail_closed(tag, error),
            (Kind::Measured | Kind::Timed, _) => self.measure(tag, verdict),
        }
    }

    #[cold]
    fn fail_closed(&self, tag: Tag, error: Option<&dyn fmt::Display>) {
        self.count(Counted::Failure);
        let failures = self.streak.add(tag.generation());
        if failures.is_some_and(|failures| failures >= self.config.get_failure_threshold()) {
            self.open(tag, Cause::Failures, error);
        }
    }

    fn measure(&self, tag: Tag, verdict: Verdict<'_>) {
        let (failed, error) = match verdict {
            Verdict::Failure(error) => (true, error),
            Verdict::Success | Verdict::Neither => (false, None),
        };
        let is_timed = tag.kind() == Kind::Timed;
        // Read before the lock is taken, for others wait for that.
        let now = if is_timed || self.window_is_of_time() { stamp::nanos() } else { 0 };
        let slow = is_timed && self.is_slow(tag.elapsed(now));
        if failed || slow {
            self.count(if failed { Counted::Failure } else { Counted::Slow });
        }

        let mut inner = self.lock();
        if !failed && !slow {
            inner.successes += 1;
        }
        if !tag.is_of(self.word()) {
            return;
        }
        let Inner { streak, window, .. } = &mut *inner;
        if failed {
            *streak = streak.saturating_add(1);
        } else if *streak != 0 {
            *streak = 0;
        }
        let by_rate = window.record(&self.config, now, Outcome { failed, slow });
        let cause =
            if failed && self.reaches_threshold(*streak) { Some(Cause::Failures) } else { by_rate };
        drop(inner);
        if let Some(cause) = cause {
            self.open(tag, cause, error);
        }
    }

    /// Whether so many consecutive failures open a breaker by rate.
    fn reaches_threshold(&self, streak: u32) -> bool {
        self.config.is_by_streak() && streak >= self.config.get_failure_threshold()
    }

    const fn window_is_of_time(&self) -> bool {
        matches!(self.config.get_window(), retry_rules::Window::Time(_))
    }

    fn is_slow(&self, took: Duration) -> bool {
        self.config.get_slow_calls().is_some_and(|slow| took > slow.longer_than())
    }

    /// Opens the breaker if it is still as it was when the call was admitted.
    #[cold]
    fn open(&self, tag: Tag, cause: Cause, error: Option<&dyn fmt::Display>) {
        // Before the lock is taken: how an error is shown is its author's code.
        let error = error.and_then(text_of);
        let mut inner = self.lock();
        if tag.is_of(self.word()) {
            self.transition_by(&mut inner, Kind::Open, cause, error);
        }
        self.announce_all(inner);
    }

    #[cold]
    fn report_probe(&self, tag: Tag, verdict: Verdict<'_>) {
        let error = match verdict {
            Verdict::Failure(error) => error.and_then(text_of),
            Verdict::Success | Verdict::Neither => None,
        };
        let mut inner = self.lock();
        let admitted_at = match self.word().kind() {
            Kind::HalfOpen => inner.probes.release(tag.probe_id()),
            _ => None,
        };
        let slow = admitted_at.is_some_and(|at| {
            self.config.get_slow_calls().is_some()
                && self.is_slow(clock::now().saturating_duration_since(at))
        });
        let counted = match verdict {
            Verdict::Neither => Some(Counted::Forgiven),
            Verdict::Failure(_) => Some(Counted::Failure),
            Verdict::Success if slow => Some(Counted::Slow),
            Verdict::Success => {
                inner.successes += 1;
                None
            }
        };
        match verdict {
            // Of an earlier half-open time.
            _ if admitted_at.is_none() => {}
            Verdict::Neither => {}
            Verdict::Failure(_) => {
                self.transition_by(&mut inner, Kind::Open, Cause::ProbeFailed, error);
            }
            Verdict::Success if slow => self.transition(&mut inner, Kind::Open, Cause::ProbeSlow),
            Verdict::Success => {
                if inner.probes.succeed() >= self.config.get_success_threshold() {
                    let closed = closed_kind(&self.config);
                    self.transition(&mut inner, closed, Cause::Recovered);
                }
            }
        }
        self.announce_all(inner);
        if let Some(counted) = counted {
            self.count(counted);
        }
    }

    /// A change that somebody asked for.
    #[cold]
    fn change(&self, to: Kind, cause: Cause) {
        let mut inner = self.lock();
        self.transition(&mut inner, to, cause);
        self.announce_all(inner);
    }

    fn transition(&self, inner: &mut Inner, to: Kind, cause: Cause) {
        self.transition_by(inner, to, cause, None);
    }

    /// The same because of a failure.
    fn transition_by(&self, inner: &mut Inner, to: Kind, cause: Cause, error: Option<Arc<str>>) {
        let from = self.word();
        let next = from.next(to);
        inner.forced = cause == Cause::Forced;
        inner.probes.restart();
        if from.kind().is_measured() {
            inner.last_closed = inner.window.tally(stamp::nanos());
        }
        inner.reopenings = match to {
            Kind::Open if from.kind() == Kind::HalfOpen => inner.reopenings.saturating_add(1),
            Kind::Open | Kind::HalfOpen => inner.reopenings,
            _ => 0,
        };
        match to {
            Kind::Open => {
                if cause == Cause::Restored {
                    inner.reopenings = 0;
                }
                let until = if inner.forced {
                    FOR_EVER
                } else {
                    let (shortest, longest) = self.config.open_time(inner.reopenings);
                    let span = random::between(shortest, longest);
                    stamp::nanos().saturating_add(stamp::nanos_of(span))
                };
                self.open_until.store(until, Ordering::Relaxed);
                inner.opened_by.clone_from(&error);
            }
            Kind::Closed => self.streak.restart(next.generation()),
            Kind::Measured | Kind::Timed => {
                inner.window.clear();
                inner.streak = 0;
            }
            Kind::HalfOpen | Kind::Forced => {}
        }
        if cause == Cause::Reset {
            inner.opened_by = None;
        }
        self.word.store(next.0, Ordering::Release);

        let (from, to) = (state_of(from), state_of(next));
        if from != to {
            let breaker = self.name.clone();
            let observe_only = self.observes();
            let transition = Transition { breaker, from, to, cause, error, observe_only };
            inner.unannounced.push_back(transition);
        }
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
        observe::breaker_transition(transition);
        self.listeners.notify(|listener| listener(transition));
    }
}

/// What an error says. One that panics while it does has said nothing.
fn text_of(error: &dyn fmt::Display) -> Option<Arc<str>> {
    let mut text = None;
    contain_panic(|| text = Some(full_text(error).into()));
    text
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
