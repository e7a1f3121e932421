//! [`Cancel`]: a future that ends the wait under way, and the call with it.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use tokio::task::coop::{Unconstrained, unconstrained};

use crate::base::sealed::Seal;

pin_project_lite::pin_project! {
    /// The future given as `cancel`, created once for each call.
    pub struct Cancel<C> {
        // Unconstrained, because for a task that has used up its budget, the future would report
        // that it is not ready, and an attempt would begin.
        #[pin]
        future: Unconstrained<C>,
        is_ready: bool,
        // Stored instead of required of `C`, so that a type that is not a future is reported once,
        // where it is created.
        poll: fn(Pin<&mut Unconstrained<C>>, &mut Context<'_>) -> bool,
    }
}

/// A future that may cancel the call.
#[diagnostic::on_unimplemented(
    message = "`cancel` takes a future, which ends the call once it is ready, not a `{Self}`",
    label = "this is not a future",
    note = "of a `CancellationToken`, this is `stop.cancelled()`; of a `Notify`, `stop.notified()`",
    note = "of a `watch::Receiver<bool>`, `async {{ let _ = stop.clone().wait_for(|stop| *stop).await; }}`; of another \
            flag that other code sets, make one of these"
)]
pub trait CancelSignal: Future {}

#[diagnostic::do_not_recommend]
impl<C: Future> CancelSignal for C {}

/// The cancellation of a call of a retrier: none, or a [`Cancel`].
pub trait MaybeCancel {
    /// Returns the future that may cancel the call.
    fn signal(self: Pin<&mut Self>, _: Seal) -> Option<Pin<&mut dyn PollCancel>>;
}

/// A future that may cancel a call, whatever its type.
pub trait PollCancel {
    /// Returns whether it is ready. Polls it with the waker of the task, or without one.
    fn poll_cancel(self: Pin<&mut Self>, cx: Option<&mut Context<'_>>, _: Seal) -> bool;
}

impl MaybeCancel for () {
    #[inline(always)]
    fn signal(self: Pin<&mut Self>, _: Seal) -> Option<Pin<&mut dyn PollCancel>> {
        None
    }
}

impl<C> MaybeCancel for Cancel<C> {
    #[inline(always)]
    fn signal(self: Pin<&mut Self>, _: Seal) -> Option<Pin<&mut dyn PollCancel>> {
        Some(self)
    }
}

impl<C> PollCancel for Cancel<C> {
    fn poll_cancel(self: Pin<&mut Self>, cx: Option<&mut Context<'_>>, _: Seal) -> bool {
        match cx {
            Some(cx) => self.poll(cx),
            None => self.is_ready(),
        }
    }
}

impl<C> Cancel<C> {
    /// Creates it of a future that may cancel the call.
    #[inline(always)]
    pub fn new(future: C) -> Self
    where
        C: CancelSignal,
    {
        Self {
            future: unconstrained(future),
            is_ready: false,
            poll: |future, cx| future.poll(cx).is_ready(),
        }
    }

    /// Returns whether it is ready. Polls it without a waker: a waiting task polls it again.
    pub fn is_ready(self: Pin<&mut Self>) -> bool {
        self.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Waits unless the call is cancelled first; returns whether it was.
    pub async fn unless(
        mut self: Pin<&mut Self>,
        mut wait: impl Future<Output = ()> + Unpin,
    ) -> bool {
        poll_fn(|cx| {
            if self.as_mut().poll(cx) {
                return Poll::Ready(true);
            }
            Pin::new(&mut wait).poll(cx).map(|()| false)
        })
        .await
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        let this = self.project();
        if !*this.is_ready {
            *this.is_ready = (this.poll)(this.future, cx);
        }
        *this.is_ready
    }
}
