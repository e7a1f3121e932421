//! A sleep by futures-timer, however long.

use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::base::clock::{self, Instant};

/// The longest setting of one timer, about a month: a browser counts milliseconds in 31 bits, and
/// ends a longer sleep at once; elsewhere, a point in time has its limits too.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// A sleep, for which the timer is set again as often as it takes.
pub(crate) struct Delay {
    timer: futures_timer::Delay,
    /// The start of this setting of the timer, and its length.
    part: (Instant, Duration),
    /// The sleep after it.
    rest: Duration,
}

impl Delay {
    pub(super) fn new(delay: Duration) -> Self {
        let part = delay.min(LONGEST);
        let rest = delay.saturating_sub(part);
        Self { timer: timer(part), part: (clock::now(), part), rest }
    }

    pub(super) fn left(&self) -> Duration {
        let (began, part) = self.part;
        let slept = clock::now().saturating_duration_since(began);
        part.saturating_sub(slept).saturating_add(self.rest)
    }
}

/// A timer of whole milliseconds, as browsers have it: rounded up, for a wait is never cut short.
fn timer(part: Duration) -> futures_timer::Delay {
    let rounded = if cfg!(target_family = "wasm") {
        Duration::from_millis(
            u64::try_from(part.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
        )
    } else {
        part
    };
    futures_timer::Delay::new(rounded)
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        while Pin::new(&mut self.timer).poll(cx).is_ready() {
            if self.rest.is_zero() {
                return Poll::Ready(());
            }
            *self = Self::new(self.rest);
        }
        Poll::Pending
    }
}

/// Lets other tasks run, each time: only tokio counts what a task does.
pub(super) fn poll_yield(cx: &mut Context<'_>, has_yielded: &mut bool) -> Poll<()> {
    if mem::replace(has_yielded, true) {
        *has_yielded = false;
        return Poll::Ready(());
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}
