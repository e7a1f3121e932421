//! [`Cancel`]: a future that ends the wait under way, and the call with it.

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// What `cancel` names, created again after each failure.
pub struct Cancel<C> {
    // On the heap, because it is checked before the wait and polled alongside it.
    future: Pin<Box<C>>,
    // Stored, and not required of `C`: what is not a future is reported once, where it is created.
    poll: fn(Pin<&mut C>, &mut Context<'_>) -> bool,
}

/// The future that may cancel the call.
#[cold]
pub fn cancel<C: Future>(future: C) -> Cancel<C> {
    Cancel { future: Box::pin(future), poll: |future, cx| future.poll(cx).is_ready() }
}

impl<C> Cancel<C> {
    /// Whether it is ready already. It is polled, and nobody is woken for it.
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

/// Waits, unless the call is cancelled before: whether it was.
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
