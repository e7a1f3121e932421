//! The waits of async functions, or a panic that names the caller if they have no timer.

use core::time::Duration;

use crate::base::timer::{self, NoTimer, Sleep};
use crate::site::Site;

/// Starts the sleep of a call of `site`, or of a retrier if that is `None`.
///
/// # Panics
/// Outside a tokio runtime, and in one without a timer, unless the feature `any-runtime` is on.
pub(crate) fn sleep(delay: Duration, site: Option<&'static Site>) -> Sleep {
    match timer::sleep(delay) {
        Ok(sleep) => sleep,
        Err(NoTimer::NoRuntime) => panic!(
            "{} waits for its next attempt, which needs a Tokio runtime: await it inside one, such as \
             `#[tokio::main]` or `#[tokio::test]` starts, or enable the feature `any-runtime`",
            Caller(site)
        ),
        Err(NoTimer::NotEnabled) => panic!(
            "{} waits for its next attempt, but this Tokio runtime has no timer: build it with \
             `enable_time()` or `enable_all()`",
            Caller(site)
        ),
    }
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
