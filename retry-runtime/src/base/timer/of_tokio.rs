//! Tokio's timer alone.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use super::{NoTimer, of_tokio};
use crate::base::clock::{self, Instant};

pub(crate) use tokio::time::Sleep;

/// The flag of a task that has yielded: tokio tracks this itself.
pub(crate) type Yielded = ();

/// Starts a sleep.
pub(crate) fn sleep(delay: Duration) -> Result<Sleep, NoTimer> {
    of_tokio(|| tokio::time::sleep(delay))
}

/// Restarts a sleep, which then ends at a point in time, and returns `true`; returns `false` if a new
/// one has to be started. A new one locks the runtime's timers twice, and counts references to the
/// runtime, which all of its threads share. A restart locks the timers once.
pub(crate) fn reset_until(sleep: Pin<&mut Sleep>, at: Instant) -> bool {
    sleep.reset(at);
    true
}

/// Starts a sleep that ends at a point in time.
pub(crate) fn sleep_until(at: Instant) -> Sleep {
    tokio::time::sleep_until(at)
}

/// Returns the rest of a sleep.
pub(crate) fn left(sleep: &Sleep) -> Duration {
    sleep.deadline().saturating_duration_since(clock::now())
}

/// Lets other tasks run if this one has kept them from it for long.
pub(crate) fn poll_yield(cx: &mut Context<'_>, (): &mut Yielded) -> Poll<()> {
    tokio::task::coop::poll_proceed(cx).map(|unit| unit.made_progress())
}
