//! The one timer: every async wait and every time limit is made here.
//!
//! It is tokio's, on whose clock it runs. With the feature `any-runtime` it is that of futures-timer
//! where there is no tokio runtime, or one without a timer; nothing changes inside tokio.

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Handle;

use crate::base::clock::Instant;

/// Why tokio's timer cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTimer {
    /// This is no task of a tokio runtime.
    NoRuntime,
    /// The runtime was built without a timer.
    NotEnabled,
}

fn of_tokio(start: impl FnOnce() -> tokio::time::Sleep) -> Result<tokio::time::Sleep, NoTimer> {
    if Handle::try_current().is_err() {
        return Err(NoTimer::NoRuntime);
    }
    // There is no way to ask a runtime whether it has a timer.
    catch_unwind(AssertUnwindSafe(start)).map_err(|_| NoTimer::NotEnabled)
}

#[cfg(not(feature = "any-runtime"))]
mod of_this_program {
    use core::task::{Context, Poll};

    use super::{Duration, Instant, NoTimer, of_tokio};

    pub(crate) use tokio::time::Sleep;

    /// Whether a task has yielded: tokio knows that itself.
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
}

#[cfg(feature = "any-runtime")]
mod of_this_program {
    use core::future::Future;
    use core::mem;
    use core::pin::Pin;
    use core::task::{Context, Poll};

    use futures_timer::Delay;

    use super::{Duration, Handle, Instant, NoTimer, of_tokio};
    use crate::base::clock;

    pin_project_lite::pin_project! {
        /// A sleep by the timer of the runtime that polls it.
        #[project = Projected]
        #[derive(Debug)]
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

    /// Whether a task has yielded.
    pub(crate) type Yielded = bool;

    /// Starts a sleep. Never an error.
    #[expect(clippy::unnecessary_wraps, reason = "tokio's timer alone may be missing")]
    pub(crate) fn sleep(delay: Duration) -> Result<Sleep, NoTimer> {
        Ok(match of_tokio(|| tokio::time::sleep(delay)) {
            Ok(sleep) => Sleep::OfTokio { sleep },
            Err(_) => Sleep::OfOthers { delay: Delay::new(delay) },
        })
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

    /// Lets other tasks run: elsewhere than in tokio, which counts what a task does, each time.
    pub(crate) fn poll_yield(cx: &mut Context<'_>, has_yielded: &mut Yielded) -> Poll<()> {
        if Handle::try_current().is_ok() {
            return tokio::task::coop::poll_proceed(cx).map(|unit| unit.made_progress());
        }
        if mem::replace(has_yielded, true) {
            *has_yielded = false;
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

pub(crate) use of_this_program::{Sleep, Yielded, poll_yield, sleep, sleep_until};
