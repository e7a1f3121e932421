//! [`BreakerWait`]: a call waits until its breaker admits it (`when_open = wait`).

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::base::clock::{self, Instant};
use crate::call::session::Session;
use crate::protect::breaker::{Admission, CircuitBreaker};
use crate::protect::quota::{Reservation, RetryQuota};
use crate::site::Origin;

pin_project_lite::pin_project! {
    /// The wait that was decided when the breaker refused an attempt. It ends early once the breaker
    /// would admit the call.
    #[must_use = "a wait does nothing until it is awaited"]
    pub struct BreakerWait<'a, K> {
        session: &'a mut Session<K>,
        #[pin]
        admission: Admission<'a>,
        began: Instant,
        // What the quota has lent for the attempt. If the wait is dropped, it gets that back.
        reservation: Option<Reservation<'a>>,
    }
}

/// Waits for `breaker`, which has refused an attempt that `quota` may have paid for. In a box, to
/// keep the futures of calls small: few of them ever wait like this.
#[cold]
pub fn until_admitted<'a, K>(
    session: &'a mut Session<K>,
    breaker: &'a CircuitBreaker,
    quota: Option<&'a RetryQuota>,
) -> Pin<Box<BreakerWait<'a, K>>> {
    let reservation = quota.map(|quota| Reservation::of(quota, session.credit()));
    let (admission, began) = (breaker.admission(), clock::now());
    Box::pin(BreakerWait { session, admission, began, reservation })
}

/// Like [`until_admitted`], but blocks the thread.
#[cold]
pub fn until_admitted_blocking<'o, K>(
    session: &mut Session<K>,
    origin: impl Into<Origin<'o>>,
    breaker: &CircuitBreaker,
) {
    session.wait_blocking_until(origin, breaker.admission());
}

impl<K> Future for BreakerWait<'_, K> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.admission.poll(cx).is_ready() {
            this.session.wait_ended_after(clock::now().saturating_duration_since(*this.began));
        } else {
            ready!(this.session.poll_wait(cx));
        }
        this.reservation.take().map(Reservation::spend);
        Poll::Ready(())
    }
}

impl<K> fmt::Debug for BreakerWait<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerWait").field("admission", &self.admission).finish_non_exhaustive()
    }
}
