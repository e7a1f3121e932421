//! Tokio's timer where there is one, another one elsewhere.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use tokio::runtime::Handle;

use super::delay::{self, Delay};
use super::{NoTimer, of_tokio};
use crate::base::clock::{self, Instant};

pin_project_lite::pin_project! {
    /// A sleep by the timer of the runtime that polls it.
    #[project = Projected]
    pub(crate) enum Sleep {
        OfTokio { #[pin] sleep: tokio::time::Sleep },
        OfOthers { #[pin] delay: Delay },
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project() {
            Projected::OfTokio { sleep } => sleep.poll(cx),
            Projected::OfOthers { delay } => delay.poll(cx),
        }
    }
}

/// The flag of a task that has yielded.
pub(crate) type Yielded = bool;

/// Starts a sleep. Never an error.
#[expect(clippy::unnecessary_wraps, reason = "tokio's timer alone may be missing")]
pub(crate) fn sleep(delay: Duration) -> Result<Sleep, NoTimer> {
    Ok(match of_tokio(|| tokio::time::sleep(delay)) {
        Ok(sleep) => Sleep::OfTokio { sleep },
        Err(_) => Sleep::OfOthers { delay: Delay::new(delay) },
    })
}

/// Returns `false`: a sleep that has ended is not restarted, because another runtime may poll it
/// now.
pub(crate) fn reset_until(_: Pin<&mut Sleep>, _: Instant) -> bool {
    false
}

/// Starts a sleep that ends at a point in time.
pub(crate) fn sleep_until(at: Instant) -> Sleep {
    match of_tokio(|| tokio::time::sleep_until(at)) {
        Ok(sleep) => Sleep::OfTokio { sleep },
        Err(_) => {
            let left = at.saturating_duration_since(clock::now());
            Sleep::OfOthers { delay: Delay::new(left) }
        }
    }
}

/// Returns the rest of a sleep.
pub(crate) fn left(sleep: &Sleep) -> Duration {
    match sleep {
        Sleep::OfTokio { sleep } => sleep.deadline().saturating_duration_since(clock::now()),
        Sleep::OfOthers { delay } => delay.left(),
    }
}

/// Lets other tasks run: in tokio, if this one has kept them from it for long; elsewhere each time.
pub(crate) fn poll_yield(cx: &mut Context<'_>, has_yielded: &mut Yielded) -> Poll<()> {
    if Handle::try_current().is_ok() {
        return tokio::task::coop::poll_proceed(cx).map(|unit| unit.made_progress());
    }
    delay::poll_yield(cx, has_yielded)
}
