//! `cancel = …`: a future that ends the wait under way, and the call with it.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

/// Whether `cancel` is ready already. It is polled once, and nobody is woken for it.
pub fn is_ready<C: Future>(cancel: C) -> bool {
    pin!(cancel).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Waits, unless `cancel` is ready before: whether it was.
pub async fn unless<C: Future>(cancel: C, wait: impl Future<Output = ()> + Unpin) -> bool {
    let (mut cancel, mut wait) = (pin!(cancel), wait);
    poll_fn(|cx| {
        if cancel.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        Pin::new(&mut wait).poll(cx).map(|()| false)
    })
    .await
}
