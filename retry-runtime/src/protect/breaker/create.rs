//! Creating a breaker.

use core::sync::atomic::AtomicBool;
use std::collections::VecDeque;

use retry_rules::{BreakerConfig, Invalid};

use super::outcomes::Counters;
use super::packed_state::{FIRST_GENERATION, Mode, PackedState};
use super::probes::Probes;
use super::stages::Stages;
use super::streak::Streak;
use super::waiters::{Waiters, Woken};
use super::window::{CallCounts, Window};
use super::{CacheLine, CircuitBreaker, FOR_EVER, LockedState, Machine};
use crate::base::const_panic::const_panic;
use crate::base::listeners::Listeners;
use crate::base::name::Name;
use crate::base::sync::{AtomicU64, Mutex, const_fn};

impl CircuitBreaker {
    const_fn! {
    /// Creates a closed breaker. The name appears in events and in [`Rejected`](crate::Rejected).
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
    pub const fn new(name: &'static str /* or `named(name, …)` */, config: BreakerConfig /* `BreakerConfig::new().timeout(…)` */) -> Self {
        if let Err(invalid) = config.validate() {
            const_panic(invalid)
        }
        Self::valid(Name::from_static(name), config)
    }
    }

    /// Creates a breaker as [`new`](Self::new) does, with a name made at runtime.
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
    pub(in crate::protect) const fn valid(name: Name, config: BreakerConfig) -> Self {
        Self {
            packed: AtomicU64::new(PackedState::first(Mode::closed_by(&config)).0),
            open_until: AtomicU64::new(FOR_EVER),
            streak: Streak::new(FIRST_GENERATION),
            called: AtomicBool::new(false),
            window_is_of_time: matches!(config.get_window(), retry_rules::Window::Time(_)),
            held_until: AtomicU64::new(0),
            held_from: AtomicU64::new(0),
            #[cfg(feature = "testing")]
            held_at: AtomicU64::new(0),
            machine: &Machine {
                report: Self::report,
                admit: Self::admit_limited,
                until_probed: Self::until_probed,
                hold: Self::hold_for,
            },
            name,
            config,
            counters: Counters::new(),
            listeners: Listeners::new(),
            waiters: Waiters::new(),
            inner: CacheLine(Mutex::new(LockedState {
                successes: 0,
                streak: 0,
                window: Window::new(&config),
                last_closed: CallCounts::NONE,
                forced: false,
                by_fleet: false,
                loan: None,
                reopenings: 0,
                reported_hold: 0,
                opened_by: None,
                probes: Probes::new(),
                stages: Stages::new(),
                unannounced: VecDeque::new(),
                woken: Woken::None,
                announcing: false,
            })),
        }
    }
    }
}
