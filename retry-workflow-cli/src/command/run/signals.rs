//! Signals: Ctrl-C, those that stop a service, and the loss of the terminal.

use std::future::pending;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::progress::ProgressReporter;
#[cfg(unix)]
use crate::steps::interruption;

/// The signal with which the keeper forwards others.
#[cfg(target_os = "linux")]
pub(crate) const FORWARDED: rustix::process::Signal = rustix::process::Signal::USR1;

/// Asks the job to stop at the first signal, and returns at the second.
pub(crate) async fn second_signal(ask: &watch::Sender<bool>, reporter: &ProgressReporter) {
    let mut signals = Signals::new();
    let first = signals.next().await;
    reporter.println(
        "stopping: waiting for running items to finish; press Ctrl-C again to stop at once",
    );
    ask.send_replace(true);
    // A terminal that closes sends its signal more than once; that is one request.
    while signals.next().await == Signal::Hangup && first == Signal::Hangup {}
}

/// Tells a request to stop from a signal that repeats one: `timeout` sends its signal to the process
/// that it has started, and again to the whole group.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The last signal, and when it came.
    last: Option<(i32, Instant)>,
}

impl Requests {
    /// Whether this signal is a request of its own.
    pub(crate) fn is_new(&mut self, signal: i32) -> bool {
        let now = Instant::now();
        // A key is pressed twice within less time than a program takes to send a signal twice.
        let apart = if signal == INTERRUPT { PRESSED_AGAIN } else { SENT_AGAIN };
        let is_again = |(last, at): (i32, Instant)| last == signal && now - at < apart;
        let is_new = !self.last.is_some_and(is_again);
        if is_new {
            self.last = Some((signal, now));
        }
        is_new
    }
}

/// The number of SIGINT, which Ctrl-C sends.
const INTERRUPT: i32 = 2;
/// How soon two of them are one request.
const PRESSED_AGAIN: Duration = Duration::from_millis(100);
/// How soon two of any other signal are one request.
const SENT_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are none"))]
    Hangup,
    Other,
}

#[cfg(unix)]
struct Signals {
    /// Registered at the start, so that no signal is missed in between.
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    quit: Option<tokio::signal::unix::Signal>,
    /// Signals that the keeper forwards.
    forwarded: Option<tokio::signal::unix::Signal>,
    /// How many arrived directly, and how many through the keeper. A signal that was sent to both
    /// processes counts as one request.
    counts: [u32; 2],
    /// Those that arrived directly.
    requests: Requests,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            quit: signal(SignalKind::quit()).ok(),
            #[cfg(target_os = "linux")]
            forwarded: signal(SignalKind::from_raw(FORWARDED.as_raw())).ok(),
            #[cfg(not(target_os = "linux"))]
            forwarded: None,
            counts: [0; 2],
            requests: Requests::default(),
            hangup: if outlives_its_terminal() { None } else { signal(SignalKind::hangup()).ok() },
        }
    }

    async fn next(&mut self) -> Signal {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            let signal = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if signal.is_none() {
                // No signal can arrive.
                pending::<()>().await;
            }
        }

        loop {
            let so_far = self.counts.iter().copied().max();
            let (way, signals) = tokio::select! {
                () = one(&mut self.interrupt) => (0, &[2][..]),
                () = one(&mut self.terminate) => (0, &[15][..]),
                () = one(&mut self.quit) => (0, &[3][..]),
                // The original signal is not known.
                () = one(&mut self.forwarded) => (1, &[2, 3, 15][..]),
                () = one(&mut self.hangup) => {
                    interruption::stopped_by(&[1]);
                    return Signal::Hangup;
                }
            };
            // The same signal may have killed a command, too.
            interruption::stopped_by(signals);
            // The keeper does not forward a repetition.
            if way == 0 && !self.requests.is_new(signals[0]) {
                continue;
            }
            self.counts[way] += 1;
            if self.counts.iter().copied().max() > so_far {
                return Signal::Other;
            }
        }
    }
}

/// Whether this process was started with `nohup` or alike. Must be called before a handler is
/// installed, because a handler ends the ignoring.
#[cfg(unix)]
pub(crate) fn outlives_its_terminal() -> bool {
    use std::io::IsTerminal as _;

    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        // If the system cannot say which signals are ignored: `nohup` detaches the terminal.
        return !std::io::stderr().is_terminal();
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit 0 is signal 1, which is SIGHUP.
    ignored.is_some_and(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
        Signal::Other
    }
}
