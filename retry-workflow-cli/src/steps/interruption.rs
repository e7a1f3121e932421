//! By which signals this process is stopped. A command that dies of the same one was stopped with
//! it, and has not failed: a terminal sends Ctrl-C to what has just been started as well, and
//! whoever ends a service signals all of its processes.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::process::Status;

/// A bit for each. Signals are sent to a process, and not to a job of it.
static SIGNALS: LazyLock<watch::Sender<u32>> = LazyLock::new(|| watch::Sender::new(0));

/// Who was signalled together may hear of it apart, for so long.
const APART: Duration = Duration::from_millis(250);

/// This process is stopped by one of these signals.
#[cfg_attr(not(unix), expect(dead_code, reason = "there are none"))]
pub(crate) fn stopped_by(some: &[i32]) {
    SIGNALS.send_modify(|signals| *signals |= some.iter().fold(0, |bits, one| bits | 1 << one));
}

/// Whether a command ended so because this process is stopped.
pub(crate) async fn explains(status: &Status) -> bool {
    let signal = match *status {
        Status::Signal(signal) => signal,
        // A shell tells so of what a signal has ended in it.
        Status::Exit(code @ 129..) => code - 128,
        _ => return false,
    };
    // HUP, INT, QUIT and TERM: of no other one is this process stopped in this way.
    if ![1, 2, 3, 15].contains(&signal) {
        return false;
    }
    let mut signals = SIGNALS.subscribe();
    let stopped = signals.wait_for(|signals| signals & (1 << signal) != 0);
    timeout(APART, stopped).await.is_ok_and(|stopped| stopped.is_ok())
}
