//! Calls that wait until their breaker admits them, and what wakes them.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::CircuitBreaker;
use super::packed_state::StagePass;

/// The calls that wait.
pub(super) struct Waiters(Notify);

/// The waiters that a change concerns.
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
    /// A future that is ready once a call whose refusal has left a `pass` is to try again, or once
    /// the breaker is open until it is reset. It is woken by changes, and not by the passing of
    /// time: the end of the open time or of a stage, or of the time in which a probe has to report.
    pub(crate) fn admission(&self, pass: StagePass) -> Admission<'_> {
        let change = self.waiters.0.notified();
        Admission { breaker: self, pass, change, is_registered: false }
    }
}

pin_project_lite::pin_project! {
    /// The future that [`CircuitBreaker::admission`] returns.
    #[must_use = "a future does nothing until it is awaited"]
    pub(crate) struct Admission<'a> {
        breaker: &'a CircuitBreaker,
        pass: StagePass,
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
                // Registered before the state is read, so that a later change wakes this task.
                this.change.as_mut().enable();
                *this.is_registered = true;
                let remaining = this.breaker.until_may_try(*this.pass);
                if matches!(remaining, None | Some(Duration::ZERO)) {
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
