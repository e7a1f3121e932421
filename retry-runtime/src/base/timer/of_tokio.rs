//! Tokio's timer alone.

use core::task::{Context, Poll};
use core::time::Duration;

use super::{NoTimer, of_tokio};
use crate::base::clock::Instant;

pub(crate) use tokio::time::Sleep;

/// The flag of a task that has yielded: tokio tracks this itself.
pub(crate) type Yielded = ();

/// Starts a sleep.
pub(crate) fn sleep(delay: Duration) -> Result<Sleep, NoTimer> {
    of_tokio(|| tokio::time::sleep(delay))
}

/// Starts a sleep that ends at a point in time.
pub(crate) fn sleep_until(at: Instant) -> Sleep {
    tokio::time::sleep_until(at)
}

/// Lets other tasks run if this one has kept them from it for long.
pub(crate) fn poll_yield(cx: &mut Context<'_>, (): &mut Yielded) -> Poll<()> {
    tokio::task::coop::poll_proceed(cx).map(|unit| unit.made_progress())
}
