//! Reports the events of a fleet through `tracing`, through `metrics` if that feature is on, and to
//! listeners. Transitions of a breaker in this process are reported by the breaker itself.

#[cfg(feature = "metrics")]
pub mod metrics;

use core::fmt;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use crate::rules::quorum::Tally;
use crate::sync::lock;

/// An event of a fleet, as seen by this member. What a member does for all is reported by that
/// member only.
///
/// ```
/// use retry_fleet::{Fleet, FleetEvent, MemoryHub};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), retry_fleet::HubError> {
/// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
/// fleet.on_event(|event| match event {
///     FleetEvent::HubLost { error, .. } => eprintln!("alone for now: {error}"),
///     other => println!("{other}"),
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum FleetEvent<'a> {
    /// The hub does not answer: breakers work alone. Reported once per outage.
    #[non_exhaustive]
    HubLost {
        /// The fleet's name.
        fleet: &'a str,
        /// The error of the request.
        error: &'a (dyn core::error::Error + 'static),
    },
    /// The hub answers again.
    #[non_exhaustive]
    HubBack {
        /// The fleet's name.
        fleet: &'a str,
        /// The time for which it was away.
        after: Duration,
    },
    /// This member has found that enough of the callers of a breaker have opened it: it is open
    /// everywhere.
    #[non_exhaustive]
    Opened {
        /// The fleet's name.
        fleet: &'a str,
        /// The breaker's name.
        breaker: &'a str,
        /// The number of members that call it, and how many of them have opened it.
        tally: Tally,
        /// The time for which the breaker rejects all calls.
        open_time: Duration,
    },
    /// This member is now the one that probes.
    #[non_exhaustive]
    Probing {
        /// The fleet's name.
        fleet: &'a str,
        /// The breaker's name.
        breaker: &'a str,
    },
    /// A probe of this member has failed: the breaker is open everywhere for longer.
    #[non_exhaustive]
    Reopened {
        /// The fleet's name.
        fleet: &'a str,
        /// The breaker's name.
        breaker: &'a str,
        /// The time for which the breaker rejects all calls.
        open_time: Duration,
    },
    /// The probes of this member have succeeded: the breaker closes everywhere.
    #[non_exhaustive]
    Closed {
        /// The fleet's name.
        fleet: &'a str,
        /// The breaker's name.
        breaker: &'a str,
    },
    /// This process already shares another breaker under the same name; this one works alone.
    #[non_exhaustive]
    NameTaken {
        /// The fleet's name.
        fleet: &'a str,
        /// The name.
        name: &'a str,
    },
}

impl fmt::Display for FleetEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HubLost { fleet, error } => {
                write!(f, "fleet `{fleet}`: {error}: breakers work alone until it is back")
            }
            Self::HubBack { fleet, after } => {
                write!(f, "fleet `{fleet}`: the hub is back after {after:.1?}")
            }
            Self::Opened { fleet, breaker, tally: Tally { callers, openers }, open_time } => {
                write!(
                    f,
                    "fleet `{fleet}`: circuit breaker `{breaker}` opens everywhere for \
                 {open_time:.1?}: {openers} of its {callers} callers have opened it"
                )
            }
            Self::Probing { fleet, breaker } => {
                write!(f, "fleet `{fleet}`: this member probes for circuit breaker `{breaker}`")
            }
            Self::Reopened { fleet, breaker, open_time } => write!(
                f,
                "fleet `{fleet}`: circuit breaker `{breaker}` stays open everywhere for {open_time:.1?}: \
                 a probe failed"
            ),
            Self::Closed { fleet, breaker } => {
                write!(f, "fleet `{fleet}`: circuit breaker `{breaker}` closes everywhere")
            }
            Self::NameTaken { fleet, name } => {
                write!(
                    f,
                    "fleet `{fleet}`: another `{name}` is already shared, so this one works alone"
                )
            }
        }
    }
}

impl fmt::Debug for FleetEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FleetEvent({self})")
    }
}

type FleetListener = dyn Fn(&FleetEvent<'_>) + Send + Sync;

/// The listeners for a fleet's events.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<Arc<FleetListener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: impl Fn(&FleetEvent<'_>) + Send + Sync + 'static) {
        lock(&self.0).push(Arc::new(listener));
    }

    /// Calls all listeners, without holding the lock.
    pub(crate) fn emit(&self, event: &FleetEvent<'_>) {
        trace(event);
        #[cfg(feature = "metrics")]
        metrics::count(event);
        let listeners = lock(&self.0).clone();
        for listener in listeners {
            // The task of a member must outlive it; the panic has been reported.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(event)));
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn trace(event: &FleetEvent<'_>) {
    match *event {
        FleetEvent::HubLost { fleet, error } => {
            tracing::warn!(target: "retry", fleet, error, "hub lost, breakers work alone");
        }
        FleetEvent::HubBack { fleet, after } => {
            tracing::info!(target: "retry", fleet, after_ms = millis(after), "hub back");
        }
        FleetEvent::Opened { fleet, breaker, tally: Tally { callers, openers }, open_time } => {
            let open_ms = millis(open_time);
            tracing::warn!(target: "retry", fleet, breaker, callers, openers, open_ms, "circuit breaker opens everywhere");
        }
        FleetEvent::Probing { fleet, breaker } => {
            tracing::info!(target: "retry", fleet, breaker, "this member probes");
        }
        FleetEvent::Reopened { fleet, breaker, open_time } => {
            tracing::warn!(target: "retry", fleet, breaker, open_ms = millis(open_time), "circuit breaker stays open everywhere");
        }
        FleetEvent::Closed { fleet, breaker } => {
            tracing::info!(target: "retry", fleet, breaker, "circuit breaker closes everywhere");
        }
        FleetEvent::NameTaken { fleet, name } => {
            tracing::warn!(target: "retry", fleet, name, "another one of this name is already shared, this one works alone");
        }
    }
}
