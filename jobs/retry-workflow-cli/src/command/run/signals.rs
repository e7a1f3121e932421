//! Signals: Ctrl-C, those that stop a service, and the loss of the terminal.

use std::future::pending;
#[cfg(unix)]
use std::time::Duration;

use tokio::sync::watch;
#[cfg(unix)]
use tokio::time::{Instant, timeout};

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

/// The requests to stop among the signals that arrive within a moment.
///
/// A terminal sends its signal to the keeper and the worker, so that one that arrives directly and
/// one that is forwarded are one request. `timeout` sends its signal to the keeper, and again to
/// the whole group: of those that are forwarded beside direct ones, only as many count.
#[cfg(unix)]
#[derive(Debug, Default)]
struct Requests {
    /// The arrival of the first of them.
    since: Option<Instant>,
    direct: u32,
    forwarded: u32,
    /// The number of requests among them so far.
    counted: u32,
}

/// The time for which signals belong together.
#[cfg(unix)]
const MOMENT: Duration = Duration::from_secs(1);
/// The longest delay of a signal to a whole group behind the one that the keeper forwards.
#[cfg(unix)]
const APART: Duration = Duration::from_millis(20);

#[cfg(unix)]
impl Requests {
    fn add(&mut self, arrival: Arrival, now: Instant) {
        if self.since.is_none_or(|since| now - since >= MOMENT) {
            *self = Self { since: Some(now), ..Self::default() };
        }
        match arrival {
            Arrival::Direct => self.direct += 1,
            Arrival::Forwarded => self.forwarded += 1,
        }
    }

    /// Returns whether several were forwarded, and none has arrived directly.
    fn is_open(&self) -> bool {
        self.direct == 0 && self.forwarded > 1
    }

    /// Returns whether there is one more request.
    fn is_new(&mut self) -> bool {
        let requests = if self.direct > 0 { self.direct } else { self.forwarded };
        let is_new = requests > self.counted;
        self.counted = self.counted.max(requests);
        is_new
    }
}

/// The way in which a signal arrives.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    Direct,
    Forwarded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are none"))]
    Hangup,
    Other,
}

#[cfg(unix)]
struct Signals {
    direct: Direct,
    /// Signals that the keeper forwards.
    forwarded: Option<tokio::signal::unix::Signal>,
    requests: Requests,
    hangup: Option<tokio::signal::unix::Signal>,
}

/// Signals that arrive directly. Registered at the start, so that none is missed in between.
#[cfg(unix)]
struct Direct {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    quit: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Direct {
    /// Waits for one. It may have killed a command, too.
    async fn next(&mut self) {
        let signal = tokio::select! {
            () = one(&mut self.interrupt) => 2,
            () = one(&mut self.terminate) => 15,
            () = one(&mut self.quit) => 3,
        };
        interruption::stopped_by(&[signal]);
    }
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        Self {
            direct: Direct {
                interrupt: signal(SignalKind::interrupt()).ok(),
                terminate: signal(SignalKind::terminate()).ok(),
                quit: signal(SignalKind::quit()).ok(),
            },
            #[cfg(target_os = "linux")]
            forwarded: signal(SignalKind::from_raw(FORWARDED.as_raw())).ok(),
            #[cfg(not(target_os = "linux"))]
            forwarded: None,
            requests: Requests::default(),
            hangup: if outlives_its_terminal() { None } else { signal(SignalKind::hangup()).ok() },
        }
    }

    async fn next(&mut self) -> Signal {
        loop {
            let arrival = tokio::select! {
                // A signal to the whole group arrives directly before it is forwarded.
                biased;
                () = self.direct.next() => Arrival::Direct,
                () = one(&mut self.forwarded) => {
                    // The original signal is not known.
                    interruption::stopped_by(&[2, 3, 15]);
                    Arrival::Forwarded
                }
                () = one(&mut self.hangup) => {
                    interruption::stopped_by(&[1]);
                    return Signal::Hangup;
                }
            };
            self.requests.add(arrival, Instant::now());
            if self.requests.is_open() && timeout(APART, self.direct.next()).await.is_ok() {
                self.requests.add(Arrival::Direct, Instant::now());
            }
            if self.requests.is_new() {
                return Signal::Other;
            }
        }
    }
}

#[cfg(unix)]
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

/// Returns whether this process was started with `nohup` or alike. Must be called before a handler
/// is installed, because a handler ends the ignoring.
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The number of requests among signals that arrive at these times, in milliseconds.
    fn requests(signals: &[(u64, Arrival)]) -> usize {
        let begin = Instant::now();
        let mut requests = Requests::default();
        let is_new = |(at, arrival): &&(u64, Arrival)| {
            requests.add(*arrival, begin + Duration::from_millis(*at));
            requests.is_new()
        };
        signals.iter().filter(is_new).count()
    }

    #[test]
    fn signals_of_one_sender_are_one_request() {
        use Arrival::{Direct, Forwarded};

        assert_eq!(requests(&[(0, Forwarded)]), 1);
        assert_eq!(requests(&[(0, Direct), (1, Forwarded)]), 1, "a terminal");
        assert_eq!(requests(&[(0, Forwarded), (1, Direct), (2, Forwarded)]), 1, "timeout");
        assert_eq!(requests(&[(0, Direct), (0, Forwarded), (9, Forwarded)]), 1, "timeout");
        assert_eq!(requests(&[(0, Forwarded), (50, Forwarded)]), 2, "kill, twice");
        let twice = [(0, Direct), (1, Forwarded), (150, Direct), (151, Forwarded)];
        assert_eq!(requests(&twice), 2, "a terminal, twice");
        let later = [(0, Direct), (1, Forwarded), (1_100, Forwarded)];
        assert_eq!(requests(&later), 2, "a terminal, then kill");
        let later =
            [(0, Forwarded), (1, Direct), (2, Forwarded), (2_000, Direct), (2_001, Forwarded)];
        assert_eq!(requests(&later), 2, "timeout, then a terminal");
    }
}
