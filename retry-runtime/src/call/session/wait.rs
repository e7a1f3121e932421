//! [`WaitingCall`]: the state of a call that has waited, and the futures of its waits.

use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::task::coop::unconstrained;

use super::Session;
use super::call_progress::CallProgress;
use crate::base::clock::{self, Instant};
use crate::base::timer::{self, Sleep, Yielded};
use crate::call::async_sleep;
use crate::protect::breaker::{Admission, CircuitBreaker};
use crate::protect::quota::{Reservation, RetryQuota};
use crate::site::Site;

pin_project_lite::pin_project! {
    /// The state of a session that has waited. The timer and the last failure live inside, so that
    /// a call makes one allocation however often it waits.
    pub(super) struct WaitingCall<K> {
        pub(super) progress: CallProgress,
        pub(super) kept: K,
        #[pin]
        timer: WaitTimer,
        has_yielded: Yielded,
    }
}

pin_project_lite::pin_project! {
    /// The timer of a call's waits.
    #[project = WaitTimerProjection]
    enum WaitTimer {
        /// No timer yet. `site` is the annotated function that waits; `None` for a retrier.
        New { site: Option<&'static Site> },
        /// The timer of the wait under way, or of the last one.
        Set {
            #[pin]
            sleep: Sleep,
        },
    }
}

/// The future of a wait.
#[must_use = "a wait does nothing until it is awaited"]
pub struct Wait<'a, K> {
    pub(super) waiting: Option<Pin<&'a mut WaitingCall<K>>>,
}

impl<K> Future for Wait<'_, K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().poll_sleep(cx),
            None => Poll::Ready(()),
        }
    }
}

impl<K> WaitingCall<K> {
    /// Stores the progress of a call of `site`, or of a retrier if that is `None`.
    pub(super) fn new(
        progress: CallProgress,
        kept: K,
        site: Option<&'static Site>,
    ) -> Pin<Box<Self>> {
        let timer = WaitTimer::New { site };
        Box::pin(Self { progress, kept, timer, has_yielded: Yielded::default() })
    }

    /// Returns how much of the wait under way has passed.
    pub(super) fn slept(&self) -> Duration {
        match &self.timer {
            WaitTimer::Set { sleep } if self.progress.is_sleeping => {
                let decided = self.progress.delay().unwrap_or_default();
                decided.saturating_sub(timer::left(sleep))
            }
            // The first poll of the wait has ended it.
            _ => Duration::ZERO,
        }
    }

    /// The wait under way has ended early: the rest of it was not waited.
    #[cold]
    pub(super) fn wait_ended_after(self: Pin<&mut Self>, slept: Duration) {
        let mut this = self.project();
        if mem::take(&mut this.progress.is_sleeping) {
            // The old timer would wake the task during the attempt.
            this.timer.set(WaitTimer::New { site: None });
        }
        this.progress.slept_only(slept);
        this.progress.attempt_begins();
    }

    fn poll_sleep(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.progress.ends_at_once() {
            return self.poll_timer(cx);
        }
        let this = self.project();
        // No timer for a zero wait; but a loop without waits must still let other tasks run.
        ready!(timer::poll_yield(cx, this.has_yielded));
        this.progress.attempt_begins();
        Poll::Ready(())
    }

    #[inline(never)]
    fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Set here and not when the wait was decided: only an async caller needs a timer.
        let wait = self.progress.wait();
        let end = || clock::after(clock::now(), wait);
        let restart =
            |sleep: Pin<&mut Sleep>| end().is_some_and(|end| timer::reset_until(sleep, end));
        let mut this = self.started(restart, |site| async_sleep::sleep(wait, site)).project();
        if let WaitTimerProjection::Set { sleep } = this.timer.as_mut().project() {
            ready!(sleep.poll(cx));
        }
        this.progress.is_sleeping = false;
        this.progress.attempt_begins();
        Poll::Ready(())
    }

    /// Polls the limit of an attempt, which is reached at `at` if it begins now: the timer of the
    /// waits, which rests while an attempt runs.
    #[inline(never)]
    pub(super) fn poll_limit(
        mut self: Pin<&mut Self>,
        at: Option<Instant>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if let Some(at) = at {
            let restart = |sleep: Pin<&mut Sleep>| timer::reset_until(sleep, at);
            self = self.started(restart, |_| timer::sleep_until(at));
        }
        let mut this = self.project();
        match this.timer.as_mut().project() {
            // Unconstrained: an attempt that uses up the cooperative budget of the task in each poll
            // would otherwise keep the limit from ever firing.
            WaitTimerProjection::Set { sleep } => Pin::new(&mut unconstrained(sleep)).poll(cx),
            WaitTimerProjection::New { .. } => Poll::Pending,
        }
    }

    /// Starts the timer unless it runs already: `restart` returns whether it can be started again,
    /// or else `start` makes a new one.
    fn started(
        mut self: Pin<&mut Self>,
        restart: impl FnOnce(Pin<&mut Sleep>) -> bool,
        start: impl FnOnce(Option<&'static Site>) -> Sleep,
    ) -> Pin<&mut Self> {
        let mut this = self.as_mut().project();
        if !mem::replace(&mut this.progress.is_sleeping, true) {
            let (site, is_set) = match this.timer.as_mut().project() {
                WaitTimerProjection::New { site } => (*site, false),
                WaitTimerProjection::Set { sleep } => (None, restart(sleep)),
            };
            if !is_set {
                this.timer.set(WaitTimer::Set { sleep: start(site) });
            }
        }
        self
    }
}

pin_project_lite::pin_project! {
    /// The admission by a breaker that has rejected the call.
    pub(crate) struct Awaited<'a> {
        #[pin]
        admission: Admission<'a>,
        reservation: Option<Reservation<'a>>,
    }
}

/// The terms of a wait: the quota that has paid for the retry, and the breaker that may end it. If it
/// is dropped before the wait has ended, the quota gets back what it has lent.
pub(crate) enum WaitTerms<'a> {
    /// Nothing paid for the retry, and nothing ends the wait.
    None,
    Paid(Reservation<'a>),
    // Boxed, to keep the futures of calls small: few of them ever wait like this.
    Awaits(Pin<Box<Awaited<'a>>>),
}

impl<'a> WaitTerms<'a> {
    /// Creates the terms of a wait of `session` that begins now.
    pub(crate) fn new<K, T>(
        session: &Session<K, T>,
        quota: Option<&'a RetryQuota>,
        awaited: Option<&'a CircuitBreaker>,
    ) -> Self {
        let reservation = quota.map(|quota| Reservation::of(quota, session.credit()));
        match awaited {
            Some(breaker) => {
                let admission = breaker.admission(session.stage_pass());
                Self::Awaits(Box::pin(Awaited { admission, reservation }))
            }
            None => reservation.map_or(Self::None, Self::Paid),
        }
    }

    /// Polls the wait of `session`.
    pub(crate) fn poll<K, T>(
        &mut self,
        session: &mut Session<K, T>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let is_admitted = match self {
            Self::Awaits(awaited) => awaited.as_mut().project().admission.poll(cx).is_ready(),
            Self::None | Self::Paid(_) => false,
        };
        match &mut session.waiting {
            Some(waiting) if is_admitted => {
                let slept = waiting.slept();
                waiting.as_mut().wait_ended_after(slept);
            }
            _ => ready!(session.poll_wait(cx)),
        }
        self.end();
        Poll::Ready(())
    }

    /// Ends the wait: the reservation is spent, because the retry is made.
    pub(crate) fn end(&mut self) {
        let reservation = match mem::replace(self, Self::None) {
            Self::None => None,
            Self::Paid(reservation) => Some(reservation),
            Self::Awaits(mut awaited) => awaited.as_mut().project().reservation.take(),
        };
        reservation.map(Reservation::spend);
    }
}

/// The future of a wait that a quota has paid for, or that a breaker may end.
#[must_use = "a wait does nothing until it is awaited"]
pub struct CallWait<'a, K, T> {
    pub(super) session: &'a mut Session<K, T>,
    pub(super) terms: WaitTerms<'a>,
}

impl<K, T> Future for CallWait<'_, K, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.terms.poll(this.session, cx)
    }
}
