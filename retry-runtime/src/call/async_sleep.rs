//! The waits of async functions: tokio's timer, or a panic that names the caller if there is none.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;

use tokio::runtime::Handle;
use tokio::time::Sleep;

use crate::site::Site;

/// Starts the sleep of a call of `site`, or of a retrier if that is `None`.
///
/// # Panics
/// Outside a tokio runtime, and in one without a timer.
pub(crate) fn sleep(delay: Duration, site: Option<&'static Site>) -> Sleep {
    assert!(
        Handle::try_current().is_ok(),
        "{} waits for its next attempt, which needs a Tokio runtime: await it inside one, such as \
         `#[tokio::main]` or `#[tokio::test]` starts",
        Caller(site)
    );
    // There is no way to ask a runtime whether it has a timer.
    catch_unwind(AssertUnwindSafe(|| tokio::time::sleep(delay))).unwrap_or_else(|_| {
        panic!(
            "{} waits for its next attempt, but this Tokio runtime has no timer: build it with \
             `enable_time()` or `enable_all()`",
            Caller(site)
        )
    })
}

/// Displayed as `` `fetch` (src/client.rs:17) ``.
struct Caller(Option<&'static Site>);

impl core::fmt::Display for Caller {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(site) => write!(f, "`{}` ({}:{})", site.name(), site.file(), site.line()),
            None => f.write_str("a retrier"),
        }
    }
}
