//! The timer of a page, where tokio has none.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use super::NoTimer;
use super::delay;
use crate::base::clock::{self, Instant};

pub(crate) use super::delay::Delay as Sleep;

/// The flag of a task that has yielded.
pub(crate) type Yielded = bool;

/// Starts a sleep. Never an error.
#[expect(clippy::unnecessary_wraps, reason = "tokio's timer may be missing")]
pub(crate) fn sleep(delay: Duration) -> Result<Sleep, NoTimer> {
    Ok(Sleep::new(delay))
}

/// Returns `false`: a sleep that has ended is not restarted.
pub(crate) fn reset_until(_: Pin<&mut Sleep>, _: Instant) -> bool {
    false
}

/// Starts a sleep that ends at a point in time.
pub(crate) fn sleep_until(at: Instant) -> Sleep {
    Sleep::new(at.saturating_duration_since(clock::now()))
}

/// Returns the rest of a sleep.
pub(crate) fn left(sleep: &Sleep) -> Duration {
    sleep.left()
}

/// Lets other tasks run.
pub(crate) fn poll_yield(cx: &mut Context<'_>, has_yielded: &mut Yielded) -> Poll<()> {
    delay::poll_yield(cx, has_yielded)
}
