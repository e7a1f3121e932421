//! The waits of functions that are not async: the thread sleeps.
//!
//! On a thread that drives async tasks, this stalls all of them. It cannot be prevented from here,
//! but it is reported.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex};
use std::task::Wake;

use tokio::task::coop;

use crate::base::clock;
use crate::base::name::Name;
use crate::base::sync::unpoisoned;
use crate::event::warning::Warning;
use crate::observe;

pub(crate) fn sleep(delay: Duration, name: &Name) {
    if delay.is_zero() {
        // Does not block: the policy has no waits, or a test skips them.
        return;
    }
    warn_of(delay, name);
    std::thread::sleep(delay);
}

/// Sleeps until `event` is ready, or for `limit` if that is shorter. Returns how long it slept if
/// it was ready.
pub(crate) fn sleep_until(
    event: impl Future<Output = ()>,
    limit: Duration,
    name: &Name,
) -> Option<Duration> {
    if limit.is_zero() {
        return None;
    }
    warn_of(limit, name);
    // A thread has no budget of operations to use up.
    let mut event = pin!(coop::unconstrained(event));
    let alarm = Arc::new(Alarm { rings: Mutex::new(false), rang: Condvar::new() });
    let (waker, began) = (Waker::from(Arc::clone(&alarm)), clock::now());
    loop {
        let ready = event.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let slept = clock::now().saturating_duration_since(began);
        if ready {
            return Some(slept.min(limit));
        }
        if !alarm.wait(limit.saturating_sub(slept)) {
            return None;
        }
    }
}

/// Wakes a thread that sleeps.
struct Alarm {
    rings: Mutex<bool>,
    rang: Condvar,
}

impl Alarm {
    /// Sleeps until it rings, or for `limit`; returns whether it rang.
    fn wait(&self, limit: Duration) -> bool {
        let rings = unpoisoned(self.rings.lock());
        let waited = self.rang.wait_timeout_while(rings, limit, |rings| !*rings);
        let (mut rings, _) = unpoisoned(waited);
        core::mem::take(&mut *rings)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        *unpoisoned(self.rings.lock()) = true;
        self.rang.notify_one();
    }
}

/// Reports, once for each function, that it is about to stall the tasks of its thread.
fn warn_of(delay: Duration, name: &Name) {
    if drives_tasks() {
        observe::warn_once(Warning::BlocksTasks { name, wait: delay });
    }
}

/// Returns whether this thread is currently polling an async task.
///
/// A runtime gives each poll of a task a budget of operations. The threads of `spawn_blocking`
/// belong to a runtime too, but have no budget. Each unit taken here is returned when its guard is
/// dropped.
fn drives_tasks() -> bool {
    /// Above any budget: tokio's is 128.
    const ENOUGH: usize = 1_024;

    if tokio::runtime::Handle::try_current().is_err() {
        return false;
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut taken = Vec::new();
    let mut limited = false;
    while taken.len() < ENOUGH && !limited {
        match coop::poll_proceed(&mut context) {
            Poll::Ready(unit) => taken.push(unit),
            Poll::Pending => limited = true,
        }
    }
    // Each guard restores the budget as it was before that guard, so the first must be dropped
    // last.
    while taken.pop().is_some() {}
    limited
}
