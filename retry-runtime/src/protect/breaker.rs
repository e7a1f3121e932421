//! The circuit breaker: after enough failures, calls are rejected for a while; then a few probes
//! decide whether they go through again.
//!
//! This file has the methods that users call; the state machine, the counting and the returned
//! types are in the files beside it. A breaker does not retry: the session asks it for a [`Permit`]
//! before each attempt.
//!
//! The pattern is Michael Nygard's (*Release It!*, 2007); the windows of calls and of time are
//! resilience4j's.

// The public methods, in the order of the documentation.
mod create;
mod permit;
mod guarded_call;
mod reading;
mod control;
mod remote_state;
// The decisions of a breaker.
mod state_machine;
mod packed_state;
mod streak;
mod window;
mod probes;
mod stages;
mod outcomes;
mod waiters;
mod rejected;

use core::fmt;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::collections::VecDeque;

use retry_rules::BreakerConfig;

use self::outcomes::{Counters, Report};
use self::packed_state::{Mode, Tag};
use self::probes::Probes;
use self::remote_state::ProbeLoan;
use self::stages::Stages;
use self::streak::Streak;
use self::waiters::{Waiters, Woken};
use self::window::{CallCounts, Window};
use crate::base::cache_line::CacheLine;
use crate::base::clock;
use crate::base::listeners::Listeners;
use crate::base::name::Name;
use crate::base::sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering, lock};
#[cfg(feature = "metrics")]
use crate::event::transition::State;
use crate::event::transition::Transition;
#[cfg(feature = "metrics")]
use crate::observe::metrics;
use crate::protect::clock_nanos;

pub(crate) use self::packed_state::{PackedState, StagePass};
pub use self::permit::{OwnedPermit, Permit};
pub use self::rejected::Rejected;
pub use self::remote_state::RemoteState;
pub(crate) use self::waiters::Admission;

/// Stops calls to a dependency that does not respond, and detects when it responds again.
///
/// *Closed*, it lets calls through and counts their failures; after `failure_threshold` consecutive
/// ones (5 unless set), at a failure rate, or at whichever comes first, it opens. *Open*, it
/// rejects calls for `timeout` (30 s unless set), which `timeout_growth` lengthens each time a
/// probe fails. Then it is *half-open*: `half_open_requests` calls at a time (3 unless set) go
/// through as probes. `success_threshold` successes (3 unless set) close it, at once or
/// [gradually](retry_rules::HalfOpen::Gradual), and one failure opens it again; if slow calls
/// count, a slow probe counts as a failure. A probe that does not report within `timeout` makes
/// room for another, but may still report.
///
/// With `observe_only`, it does all that but rejects nothing: its state, events and numbers show
/// what it would have done.
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
#[repr(C)]
pub struct CircuitBreaker {
    // The fields that each call reads come first, so that they share a cache line; then those that
    // few calls need; and what calls write, if rates decide, starts a line of its own.
    /// A [`PackedState`]; written only under the lock of `inner`.
    packed: AtomicU64,
    /// The end of the open time, as a [`clock_nanos`] time, or [`FOR_EVER`] if only a reset ends
    /// it. Written before the `packed` state that opens the breaker, so that a call can be rejected
    /// without the lock.
    open_until: AtomicU64,
    streak: Streak,
    /// Set if a call came since this was last read; written only if calls are noted.
    called: AtomicBool,
    /// Set if rates are measured over a span of time, as `config` says.
    window_is_of_time: bool,
    /// The end and the begin of the hold, as [`clock_nanos`] times, if `packed` has its bit.
    /// Written under the lock of `inner`, before `packed`.
    held_until: AtomicU64,
    held_from: AtomicU64,
    /// The moment of the report that set `held_until`.
    #[cfg(feature = "testing")]
    held_at: AtomicU64,
    /// The same for all breakers.
    machine: &'static Machine,
    pub(super) name: Name,
    config: BreakerConfig,
    counters: Counters,
    listeners: Listeners<OnTransition>,
    waiters: Waiters,
    inner: CacheLine<Mutex<LockedState>>,
}

/// The functions of a breaker that is not closed, or fails. A call that may have a breaker reaches them
/// only through it: a program that creates no breaker does not contain them.
struct Machine {
    report: fn(&CircuitBreaker, Tag, Report<'_>),
    admit: for<'b> fn(&'b CircuitBreaker, PackedState, StagePass) -> Result<Permit<'b>, Rejected>,
    until_probed: fn(&CircuitBreaker, Option<StagePass>) -> Option<Duration>,
    hold: fn(&CircuitBreaker, Duration),
}

type OnTransition = dyn Fn(&Transition) + Send + Sync;

/// A listener added by [`CircuitBreaker::on_transition`]. It stays active until
/// [`remove_listener`](CircuitBreaker::remove_listener) is called, even if this handle is dropped.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
/// let listener = breaker.on_transition(|transition| eprintln!("{transition}"));
/// // …
/// breaker.remove_listener(&listener);
/// ```
pub struct TransitionListener(Arc<OnTransition>);

impl fmt::Debug for TransitionListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransitionListener")
    }
}

/// The open time does not end.
const FOR_EVER: u64 = u64::MAX;

/// The fields that a closed breaker that counts consecutive failures does not need.
#[repr(C)]
struct LockedState {
    /// Successful calls, if rates decide, and successful probes.
    successes: u64,
    /// Consecutive failures, if rates decide too.
    streak: u32,
    /// The window over which rates are measured, if rates decide.
    window: Window,
    /// The counts of the window when the breaker was last closed.
    last_closed: CallCounts,
    forced: bool,
    /// Set if a fleet has set the state.
    by_fleet: bool,
    /// The probes that a fleet allows it to make while it is half-open.
    loan: Option<ProbeLoan>,
    /// The number of times it has reopened since it was last closed.
    reopenings: u32,
    /// The end of the hold that was last reported, as a [`clock_nanos`] time.
    reported_hold: u64,
    /// The failure that last opened it.
    opened_by: Option<Arc<str>>,
    probes: Probes,
    stages: Stages,
    /// Transitions that have not been announced yet, in order.
    unannounced: VecDeque<Transition>,
    /// The waiting calls that the latest changes concern, until they are woken.
    woken: Woken,
    /// Set if a thread is announcing; others leave their transitions to it, to keep the order.
    announcing: bool,
}

impl CircuitBreaker {
    const fn observes(&self) -> bool {
        self.config.is_observe_only()
    }

    /// Returns whether a new breaker in its place would lose nothing but counts. It holds no calls,
    /// and it is closed, and not forced to be; or it is open, its time is over, and it has not been
    /// called since, which would have made it half-open; or it is half-open, and has not been
    /// called for the time `timeout`.
    pub(super) fn is_idle(&self) -> bool {
        if !self.held_for().is_zero() {
            return false;
        }
        match self.packed().mode() {
            Mode::Closed | Mode::Measured | Mode::Timed => true,
            Mode::Forced => false,
            Mode::Open => self.remaining().is_zero(),
            Mode::Gradual => {
                let timeout = self.config.get_timeout();
                self.lock().stages.is_overdue(clock_nanos::now(), timeout)
            }
            Mode::HalfOpen => {
                let timeout = self.config.get_timeout();
                let open_until = self.open_until.load(Ordering::Relaxed);
                let is_due =
                    open_until.saturating_add(clock::nanos_of(timeout)) <= clock_nanos::now();
                is_due && self.lock().probes.are_unasked_for(clock::now(), timeout)
            }
        }
    }

    /// Ends the open time: loom's models must not depend on time.
    #[cfg(retry_loom)]
    #[doc(hidden)]
    pub fn end_open_time(&self) {
        self.open_until.store(clock_nanos::now(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, LockedState> {
        lock(&self.inner.0)
    }

    #[inline]
    pub(crate) fn packed(&self) -> PackedState {
        // Pairs with the store in `transition`: a thread that sees a generation also sees the
        // counters that were cleared for it.
        PackedState(self.packed.load(Ordering::Acquire))
    }
}

#[cfg(feature = "metrics")]
impl Drop for CircuitBreaker {
    fn drop(&mut self) {
        if self.state() != State::Closed {
            // Closed: the facade cannot remove the gauge.
            metrics::breaker_state(&self.name, self.observes(), 0.0);
        }
    }
}

retry_rules::partial_debug!(CircuitBreaker, |self| {
    name: &self.name,
    state: &self.state(),
    config: &self.config,
});
