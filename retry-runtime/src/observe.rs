//! The destinations of events: the function's counters, `tracing` and `metrics` if these features
//! are on, and listeners.
//!
//! All of this happens on the failure path only.

#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "tracing")]
mod trace;

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
#[cfg(not(retry_loom))]
use std::cell::Cell;

use retry_rules::{Attempts, Invalid, Policy};

use crate::base::first::First;
#[cfg(not(retry_loom))]
use crate::base::listeners::Listeners;
use crate::base::name::Name;
#[cfg(not(retry_loom))]
use crate::base::sync::Arc;
use crate::event::Event;
use crate::event::log_level::LogLevel;
use crate::event::transition::Transition;
use crate::outcome::error::Ended;
use crate::site::Origin;

#[cfg(not(retry_loom))]
type EventListener = dyn Fn(&Event<'_>) + Send + Sync;

// Not available under loom, whose mutexes cannot be created in constants.
#[cfg(not(retry_loom))]
static LISTENERS: Listeners<EventListener> = Listeners::new();

/// Calls `listener` with each [`Event`] of the program from now on.
///
/// For programs that use neither `tracing` nor `metrics`. The listener is called on the thread on
/// which the event happens, with no lock held, so it should be quick. One that panics is called
/// again at the next event. Events that a listener itself causes, by calling a function that
/// retries, are not reported to listeners.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use retry_runtime::{Event, on_event, retry};
///
/// static RETRIES: AtomicU32 = AtomicU32::new(0);
///
/// #[retry(attempts = 3, initial_delay = "1ms", name = "listened.to")]
/// fn fail() -> Result<(), String> {
///     Err("no".to_owned())
/// }
///
/// let listening = on_event(|event| {
///     if event.name() == "listened.to" && matches!(event, Event::Retry { .. }) {
///         RETRIES.fetch_add(1, Ordering::Relaxed);
///     }
/// });
/// let _ = fail();
/// assert_eq!(RETRIES.load(Ordering::Relaxed), 2);
/// listening.stop();
/// ```
#[cfg(not(retry_loom))]
pub fn on_event(listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Listening {
    let listener: Arc<EventListener> = Arc::new(listener);
    LISTENERS.add(Arc::clone(&listener));
    Listening(listener)
}

/// A listener added by [`on_event`]. It stays active until [`stop`](Self::stop) is called, even if
/// this handle is dropped.
///
/// ```
/// use retry_runtime::on_event;
///
/// let listening = on_event(|event| eprintln!("{event}"));
/// // …
/// listening.stop();
/// ```
#[cfg(not(retry_loom))]
pub struct Listening(Arc<EventListener>);

#[cfg(not(retry_loom))]
impl Listening {
    /// Stops the listener: no later event reaches it.
    ///
    /// ```
    /// # use retry_runtime::on_event;
    /// let listening = on_event(|event| eprintln!("{event}"));
    /// listening.stop();
    /// ```
    pub fn stop(self) {
        LISTENERS.remove(&self.0);
    }
}

#[cfg(not(retry_loom))]
impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listening")
    }
}

/// Reports to everything but `metrics`. The few events that `metrics` counts are recorded where
/// they happen, because their labels are the function's.
pub(crate) fn emit(event: &Event<'_>) {
    #[cfg(feature = "tracing")]
    crate::observe::trace::emit(event);
    tell(event);
}

/// Reports to tests and listeners.
fn tell(event: &Event<'_>) {
    #[cfg(feature = "testing")]
    crate::test_hooks::record_event(event);
    #[cfg(not(retry_loom))]
    notify_listeners(event);
    #[cfg(all(retry_loom, not(feature = "testing")))]
    let _ = event;
}

/// Returns whether there may be listeners.
#[inline]
fn is_listened_to() -> bool {
    #[cfg(not(retry_loom))]
    let any = LISTENERS.any();
    #[cfg(retry_loom)]
    let any = false;
    any || cfg!(feature = "testing")
}

#[cfg(not(retry_loom))]
fn notify_listeners(event: &Event<'_>) {
    thread_local! {
        // A listener that retries something would trigger itself without end.
        static NOTIFYING: Cell<bool> = const { Cell::new(false) };
    }

    struct Reset;

    impl Drop for Reset {
        fn drop(&mut self) {
            NOTIFYING.set(false);
        }
    }

    LISTENERS.notify(|listener| {
        if !NOTIFYING.replace(true) {
            let _reset = Reset;
            listener(event);
        }
    });
}

/// Counts a failure that will be retried after a wait.
#[inline]
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "counted in nanoseconds"))]
pub(crate) fn count_retry(origin: Origin<'_>, wait: Duration, nanos: u64) {
    if let Some(counters) = origin.counters() {
        counters.retry(nanos);
    }
    #[cfg(feature = "metrics")]
    crate::observe::metrics::will_retry(origin, wait);
}

/// Returns whether a subscriber is interested in retried failures. This is the one event of each
/// failure; otherwise it is not built.
#[inline]
pub(crate) fn retries_are_observed() -> bool {
    #[cfg(feature = "tracing")]
    let traces = crate::observe::trace::retries_may_be_traced();
    #[cfg(not(feature = "tracing"))]
    let traces = false;
    traces || is_listened_to()
}

/// Reports a failure that will be retried, to all but what counts it.
pub(crate) fn will_retry(
    name: &Name,
    attempts: Attempts,
    attempt: u32,
    wait: Duration,
    waited: Duration,
    error: &dyn fmt::Display,
) {
    #[cfg(feature = "tracing")]
    crate::observe::trace::retry(name, attempt, attempts, wait, waited, error);
    if is_listened_to() {
        tell(&Event::Retry { name, attempt, attempts, wait, waited, error });
    }
}

pub(crate) fn recovered(origin: Origin<'_>, attempt: u32, waited: Duration) {
    if let Some(counters) = origin.counters() {
        counters.recovered();
    }
    #[cfg(feature = "metrics")]
    crate::observe::metrics::recovered(origin);
    emit(&Event::Recovered { name: origin.name, attempt, waited });
}

/// Reports a call that ended without success; `rejected` if the next attempt was not admitted.
/// `level` is the level of the event of `tracing`, and has no other effect.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nothing is logged"))]
pub(crate) fn gave_up(
    origin: Origin<'_>,
    ended: Ended,
    rejected: bool,
    level: LogLevel,
    error: &dyn fmt::Display,
) {
    let Ended { reason, attempts, waited, asked: _ } = ended;
    if let Some(counters) = origin.counters() {
        counters.gave_up(reason, rejected);
    }
    #[cfg(feature = "metrics")]
    crate::observe::metrics::gave_up(origin, reason, rejected);
    #[cfg(feature = "tracing")]
    crate::observe::trace::gave_up(level, origin.name, ended, error);
    tell(&Event::GaveUp { name: origin.name, reason, attempts, waited, rejected, error });
}

/// Hedge `hedge` joins an attempt that has not answered.
pub(crate) fn hedged(origin: Origin<'_>, attempt: u32, hedge: u32, after: Duration) {
    if let Some(counters) = origin.counters() {
        counters.hedged();
    }
    #[cfg(feature = "metrics")]
    crate::observe::metrics::hedged(origin);
    emit(&Event::Hedged { name: origin.name, attempt, hedge, after });
}

/// Hedge `hedge` was the first to succeed.
pub(crate) fn hedge_won(origin: Origin<'_>, attempt: u32, hedge: u32) {
    if let Some(counters) = origin.counters() {
        counters.hedge_won();
    }
    #[cfg(feature = "metrics")]
    crate::observe::metrics::hedge_won(origin);
    emit(&Event::HedgeWon { name: origin.name, attempt, hedge });
}

/// A policy known only at runtime breaks rules: reported once.
pub(crate) fn invalid_policy(name: &Name, invalid: Invalid) {
    static WARNED: First<(Name, Invalid)> = First::new();

    if WARNED.is_first((name.clone(), invalid)) {
        emit(&Event::InvalidPolicy { name, invalid });
    }
}

/// A call failed: if its policy has one of very many lists of delays, this is reported once.
pub(crate) fn many_delay_lists(name: &Name, policy: &Policy) {
    static WARNED: AtomicBool = AtomicBool::new(false);

    let Some(lists) = policy.get_backoff().excess_of_lists() else { return };
    if !WARNED.swap(true, Ordering::Relaxed) {
        emit(&Event::ManyDelayLists { name, lists });
    }
}

/// A timeout known only at runtime cannot cut an attempt off: reported once.
pub(crate) fn timeout_not_obeyed(name: &Name, timeout: Duration) {
    static WARNED: First<Name> = First::new();

    if WARNED.is_first(name.clone()) {
        emit(&Event::TimeoutNotObeyed { name, timeout });
    }
}

/// The policy of a function that makes one attempt at a time has a hedge: reported once.
pub(crate) fn hedge_not_obeyed(name: &Name, hedge: Duration) {
    static WARNED: First<Name> = First::new();

    if WARNED.is_first(name.clone()) {
        emit(&Event::HedgeNotObeyed { name, hedge });
    }
}

pub(crate) fn breaker_transition(transition: &Transition) {
    #[cfg(feature = "metrics")]
    crate::observe::metrics::breaker_transition(transition);
    emit(&Event::Breaker(transition));
}

/// Counts a call that did not simply succeed; not an event.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "nobody to tell"))]
pub(crate) fn breaker_call(breaker: &Name, kind: &'static str) {
    #[cfg(feature = "metrics")]
    crate::observe::metrics::breaker_call(breaker, kind);
}

/// Reports how many tokens a quota holds, as a gauge; not an event.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "nobody to tell"))]
pub(crate) fn quota_level(quota: &Name, tokens: u32) {
    #[cfg(feature = "metrics")]
    crate::observe::metrics::quota_level(quota, tokens);
}
