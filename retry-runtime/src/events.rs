//! What a call reports while it runs: through `tracing` where that feature is
//! on, to the function's own `on_retry`, and to standard error where a warning
//! would else be lost.
//!
//! All of it happens on the failure path only.

use core::fmt;
use core::time::Duration;

use retry_policy::Attempts;

use crate::error::{Ended, Interrupted, Rounded};
use crate::site::Site;
use crate::transition::Transition;

/// A failed attempt that will be retried, as `on_retry = |event| …` sees it.
///
/// ```
/// use retry_runtime::{RetryEvent, retry};
///
/// fn log(event: &RetryEvent<'_, String>) {
///     eprintln!("{event}");
/// }
///
/// #[retry(attempts = 5, on_retry = log)]
/// async fn fetch() -> Result<u32, String> {
///     Ok(7)
/// }
/// ```
#[derive(Debug)]
pub struct RetryEvent<'a, E> {
    pub(crate) name: &'static str,
    pub(crate) attempt: u32,
    pub(crate) attempts: Attempts,
    pub(crate) failure: Failure<'a, E>,
    pub(crate) wait: Duration,
    pub(crate) waited: Duration,
}

/// How an attempt failed.
#[derive(Debug)]
pub enum Failure<'a, E> {
    /// With an error of its own.
    Error(&'a E),
    /// Without one: it was cut off.
    Interrupted(Interrupted),
    /// With a value that `ok(…)` calls a failure.
    Value,
}

impl<E> Clone for Failure<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Failure<'_, E> {}

impl<E> RetryEvent<'_, E> {
    /// The name of the function: module path and function name, unless set.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Which attempt failed; the first is 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How many attempts the policy allows.
    pub fn attempts(&self) -> Attempts {
        self.attempts
    }

    /// The error that it failed with. `None` where a value counts as the
    /// failure (`ok(…)`), and where the attempt was
    /// [`interrupted`](Self::interrupted).
    pub fn error(&self) -> Option<&E> {
        match self.failure {
            Failure::Error(error) => Some(error),
            Failure::Interrupted(_) | Failure::Value => None,
        }
    }

    /// What cut the attempt off, where the function returns
    /// [`RetryError`](crate::RetryError). Other functions have made their own
    /// error of it: see [`error`](Self::error).
    pub fn interrupted(&self) -> Option<Interrupted> {
        match self.failure {
            Failure::Interrupted(interrupted) => Some(interrupted),
            Failure::Error(_) | Failure::Value => None,
        }
    }

    /// How long the wait before the next attempt is.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// The sum of the waits before this one.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

/// `billing::fetch: attempt 2 of 5 failed, next in 2s: connection refused`
impl<E: fmt::Display> fmt::Display for RetryEvent<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, attempt, attempts, wait, failure, .. } = self;
        write!(f, "{name}: attempt {attempt} of {attempts} failed, next in {}", Rounded(*wait))?;
        match failure {
            Failure::Error(error) => write!(f, ": {error}"),
            Failure::Interrupted(interrupted) => write!(f, ": {interrupted}"),
            Failure::Value => Ok(()),
        }
    }
}

#[cfg(feature = "tracing")]
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody to tell"))]
pub(crate) fn will_retry(
    site: Site,
    attempts: Attempts,
    attempt: u32,
    wait: Duration,
    waited: Duration,
    error: &dyn fmt::Display,
) {
    #[cfg(feature = "tracing")]
    tracing::debug!(
        target: "retry",
        name = site.name,
        attempt,
        %attempts,
        wait_ms = millis(wait),
        waited_ms = millis(waited),
        %error,
        "attempt failed, will be retried"
    );
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody to tell"))]
pub(crate) fn recovered(site: Site, attempt: u32, waited: Duration) {
    #[cfg(feature = "tracing")]
    tracing::info!(
        target: "retry",
        name = site.name,
        attempt,
        waited_ms = millis(waited),
        "recovered"
    );
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody to tell"))]
pub(crate) fn gave_up(site: Site, ended: Ended, error: &dyn fmt::Display) {
    #[cfg(feature = "tracing")]
    {
        let Ended { reason, attempts, waited } = ended;
        let (name, reason) = (site.name, reason.as_str());
        let waited_ms = millis(waited);
        // A failure that nobody wanted retried is the caller's business, and may be frequent.
        if ended.reason == crate::Reason::NotRetryable {
            tracing::debug!(target: "retry", name, attempts, waited_ms, reason, %error, "gave up");
        } else {
            tracing::warn!(target: "retry", name, attempts, waited_ms, reason, %error, "gave up");
        }
    }
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody to tell"))]
pub(crate) fn breaker_moved(transition: &Transition) {
    #[cfg(feature = "tracing")]
    tracing::warn!(
        target: "retry",
        breaker = transition.breaker,
        from = transition.from.as_str(),
        to = transition.to.as_str(),
        cause = transition.cause.as_str(),
        "circuit breaker moved"
    );
}

/// A function that is not async sleeps on a thread that drives async tasks.
pub(crate) fn blocks_tasks(site: Site, delay: Duration) {
    let Site { name } = site;
    #[cfg(feature = "tracing")]
    tracing::warn!(
        target: "retry",
        name,
        wait_ms = millis(delay),
        "sleeps on a thread that drives async tasks, which stalls them: \
         make the function async, or call it through `spawn_blocking`"
    );
    #[cfg(not(feature = "tracing"))]
    eprintln!(
        "retry: `{name}` sleeps for {delay:?} on a thread that drives async tasks, which stalls them: \
         make the function async, or call it through `spawn_blocking`"
    );
}
