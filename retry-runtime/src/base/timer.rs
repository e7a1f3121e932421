//! The one timer: every async wait and every time limit is made here. It is tokio's timer and uses
//! tokio's clock. With the feature `any-runtime` it is the timer of futures-timer outside of a
//! tokio runtime, or in a runtime without a timer; nothing changes inside tokio. In a browser it is
//! always the timer of futures-timer, which uses the page's timers.

#[cfg(any(feature = "any-runtime", all(target_family = "wasm", target_os = "unknown")))]
mod delay;

#[cfg(not(any(feature = "any-runtime", all(target_family = "wasm", target_os = "unknown"))))]
#[path = "timer/of_tokio.rs"]
mod of_this_program;

#[cfg(all(feature = "any-runtime", not(all(target_family = "wasm", target_os = "unknown"))))]
#[path = "timer/of_any_runtime.rs"]
mod of_this_program;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[path = "timer/of_browser.rs"]
mod of_this_program;

pub(crate) use of_this_program::{
    Sleep, Yielded, left, poll_yield, reset_until, sleep, sleep_until,
};

/// The reason why tokio's timer is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    all(target_family = "wasm", target_os = "unknown"),
    expect(dead_code, reason = "not asked")
)]
pub(crate) enum NoTimer {
    /// This is not a task of a tokio runtime.
    NoRuntime,
    /// The runtime was built without a timer.
    NotEnabled,
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn of_tokio(start: impl FnOnce() -> tokio::time::Sleep) -> Result<tokio::time::Sleep, NoTimer> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    if tokio::runtime::Handle::try_current().is_err() {
        return Err(NoTimer::NoRuntime);
    }
    // A runtime cannot be queried for a timer.
    catch_unwind(AssertUnwindSafe(start)).map_err(|_| NoTimer::NotEnabled)
}
