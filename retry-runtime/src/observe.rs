//! The destinations of events: the function's counters, `tracing` and `metrics` if these features
//! are on, and listeners.
//!
//! All of this happens on the failure path only.

#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "tracing")]
mod trace;

#[cfg(not(retry_loom))]
use core::fmt;
#[cfg(not(retry_loom))]
use std::cell::Cell;

use retry_rules::Invalid;

use crate::base::first::First;
#[cfg(not(retry_loom))]
use crate::base::listeners::Listeners;
use crate::base::name::Name;
#[cfg(not(retry_loom))]
use crate::base::sync::Arc;
use crate::event::Event;
use crate::event::warning::Warning;
use crate::site::{Origin, Site};

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

/// Reports an event that is not counted by function.
pub(crate) fn emit(event: &Event<'_>) {
    emit_for(None, event);
}

/// Reports an event to all sinks: the counters of `site`, which is the function that it is about,
/// `metrics`, `tracing`, tests and listeners.
#[inline]
pub(crate) fn emit_for(site: Option<&'static Site>, event: &Event<'_>) {
    if let Some(site) = site {
        site.counters().count(event);
    }
    #[cfg(feature = "metrics")]
    crate::observe::metrics::record(site, event);
    if is_observed(event) {
        report(event);
    }
}

/// Returns whether `tracing`, a test or a listener may take the event.
#[inline]
fn is_observed(event: &Event<'_>) -> bool {
    #[cfg(feature = "tracing")]
    if crate::observe::trace::may_be_traced(event) {
        return true;
    }
    #[cfg(not(retry_loom))]
    if LISTENERS.any() {
        return true;
    }
    let _ = event;
    cfg!(feature = "testing")
}

#[cold]
#[inline(never)]
fn report(event: &Event<'_>) {
    // Under loom, there may be no sink.
    let _ = event;
    #[cfg(feature = "tracing")]
    crate::observe::trace::emit(event);
    #[cfg(feature = "testing")]
    crate::test_hooks::record_event(event);
    #[cfg(not(retry_loom))]
    notify_listeners(event);
}

/// Reports a warning once for each name and kind, and an invalid policy once for each mistake.
pub(crate) fn warn_once(warning: Warning<'_>) {
    static WARNED: First<(Name, &str, Option<Invalid>)> = First::new();

    let invalid = match warning {
        Warning::InvalidPolicy { invalid, .. } => Some(invalid),
        _ => None,
    };
    if WARNED.is_first((warning.subject().clone(), warning.message(), invalid)) {
        emit(&Event::Warning(warning));
    }
}

/// Reports, once for each mistake, why the policy to obey is not the one that was given.
pub(crate) fn warn_invalid(origin: Origin<'_>, invalid: Option<Invalid>) {
    if let Some(invalid) = invalid {
        warn_once(Warning::InvalidPolicy { name: origin.name, invalid });
    }
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

/// Counts a call that did not simply succeed; not an event.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "only metrics count it"))]
pub(crate) fn breaker_call(breaker: &Name, observes: bool, kind: &'static str) {
    #[cfg(feature = "metrics")]
    crate::observe::metrics::breaker_call(breaker, observes, kind);
}

/// Reports how many tokens a quota holds, as a gauge; not an event.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "only metrics count it"))]
pub(crate) fn quota_level(quota: &Name, tokens: u32) {
    #[cfg(feature = "metrics")]
    crate::observe::metrics::quota_level(quota, tokens);
}
