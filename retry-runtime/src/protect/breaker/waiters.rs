//! Calls that wait until their breaker admits them, and what wakes them.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::CircuitBreaker;

/// The calls that wait.
pub(super) struct Waiters(Notify);

/// Which of them a change concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Woken {
    #[default]
    None,
    /// One: a probe has ended, or the last call of a stage, which leaves room for another.
    One,
    /// All: the state or the stage has changed.
    All,
}

impl Waiters {
    pub(super) const fn new() -> Self {
        Self(Notify::const_new())
    }

    pub(super) fn wake(&self, woken: Woken) {
        match woken {
            Woken::None => {}
            Woken::One => self.0.notify_one(),
            Woken::All => self.0.notify_waiters(),
        }
    }
}

impl CircuitBreaker {
    /// A future that is ready once a call would be admitted, or once the breaker is open until it is
    /// reset. It hears of changes, and not of the passing of time: the end of the open time, or that
    /// of the time in which a probe has to report.
    pub(crate) fn admission(&self) -> Admission<'_> {
        Admission { breaker: self, change: self.waiters.0.notified(), is_registered: false }
    }

    /// Whether there is nothing to wait for.
    fn has_decided(&self) -> bool {
        matches!(self.until_admits(), None | Some(Duration::ZERO))
    }
}

pin_project_lite::pin_project! {
    /// What [`CircuitBreaker::admission`] returns.
    #[must_use = "a future does nothing until it is awaited"]
    pub(crate) struct Admission<'a> {
        breaker: &'a CircuitBreaker,
        #[pin]
        change: Notified<'a>,
        is_registered: bool,
    }
}

impl Future for Admission<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            if !*this.is_registered {
                // Registered before looking: what changes after the look is heard of.
                this.change.as_mut().enable();
                *this.is_registered = true;
                if this.breaker.has_decided() {
                    return Poll::Ready(());
                }
            }
            ready!(this.change.as_mut().poll(cx));
            // Another call may have been faster.
            this.change.set(this.breaker.waiters.0.notified());
            *this.is_registered = false;
        }
    }
}

impl fmt::Debug for Admission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("breaker", &self.breaker.name()).finish_non_exhaustive()
    }
}
