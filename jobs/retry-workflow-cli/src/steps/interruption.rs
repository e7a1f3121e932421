//! The signals that are stopping this process. A command that dies of the same signal was stopped
//! along with it and has not failed: a terminal sends Ctrl-C to commands that have just been
//! started as well, and a service manager signals all processes of a service.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::process::Status;

/// One bit per signal. Global, because signals are sent to a process rather than to a job.
static SIGNALS: LazyLock<watch::Sender<u32>> = LazyLock::new(|| watch::Sender::new(0));

/// The largest delay between processes that receive a signal sent to all of them, also on a busy
/// machine. A command that died of its own signal is reported as failed this much later.
const APART: Duration = Duration::from_secs(1);

/// Records that one of these signals is stopping this process.
pub(crate) fn stopped_by(some: &[i32]) {
    SIGNALS.send_modify(|signals| *signals |= some.iter().fold(0, |bits, one| bits | 1 << one));
}

/// Returns whether a command ended this way because this process is being stopped.
pub(crate) async fn explains(status: &Status) -> bool {
    let signal = match *status {
        Status::Signal(signal) => signal,
        // A shell reports a command that died of a signal this way.
        Status::Exit(code @ 129..) => code - 128,
        _ => return false,
    };
    // HUP, INT, QUIT and TERM: no other signal stops this process gracefully.
    if ![1, 2, 3, 15].contains(&signal) {
        return false;
    }
    let mut signals = SIGNALS.subscribe();
    let stopped = signals.wait_for(|signals| signals & (1 << signal) != 0);
    timeout(APART, stopped).await.is_ok_and(|stopped| stopped.is_ok())
}
