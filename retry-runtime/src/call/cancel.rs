//! [`Cancel`]: a future that ends the current wait, and the call with it.

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// The future given as `cancel`, created anew after each failure.
pub struct Cancel<C> {
    // Boxed, because it is checked before the wait and then polled alongside it.
    future: Pin<Box<C>>,
    // Stored instead of required of `C`, so that a type that is not a future is reported once,
    // where it is created.
    poll: fn(Pin<&mut C>, &mut Context<'_>) -> bool,
}

/// The future that may cancel the call.
#[cold]
pub fn cancel<C: Future>(future: C) -> Cancel<C> {
    Cancel { future: Box::pin(future), poll: |future, cx| future.poll(cx).is_ready() }
}

impl<C> Cancel<C> {
    /// Whether it is ready already. Polls it without registering a waker.
    pub fn is_ready(&mut self) -> bool {
        self.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        (self.poll)(self.future.as_mut(), cx)
    }
}

impl<C> fmt::Debug for Cancel<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").finish_non_exhaustive()
    }
}

/// Waits unless the call is cancelled first; returns whether it was.
pub async fn unless<C>(mut cancel: Cancel<C>, wait: impl Future<Output = ()> + Unpin) -> bool {
    let mut wait = wait;
    poll_fn(|cx| {
        if cancel.poll(cx) {
            return Poll::Ready(true);
        }
        Pin::new(&mut wait).poll(cx).map(|()| false)
    })
    .await
}
