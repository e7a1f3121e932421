//! The waits of functions that are not async: the thread sleeps.
//!
//! On a thread that drives async tasks, this stalls all of them. It cannot be prevented from here,
//! but it is reported.

use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tokio::task::coop;

use crate::base::first::First;
use crate::base::name::Name;
use crate::event::Event;
use crate::observe;

/// The functions already reported.
static WARNED: First<Name> = First::new();

pub(crate) fn sleep(delay: Duration, name: &Name) {
    if delay.is_zero() {
        // Stalls nobody: a policy without waits, or a test that skips them.
        return;
    }
    if drives_tasks() && WARNED.is_first(name.clone()) {
        observe::emit(&Event::BlocksTasks { name, wait: delay });
    }
    std::thread::sleep(delay);
}

/// Whether this thread is currently polling an async task.
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
