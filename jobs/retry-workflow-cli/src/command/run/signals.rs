//! Signals: Ctrl-C, those that stop a service, and the loss of the terminal.

#[cfg(not(unix))]
use std::future::pending;
#[cfg(unix)]
use std::future::poll_fn;
use std::io;
#[cfg(unix)]
use std::task::Poll;
use std::time::Duration;

#[cfg(unix)]
use tokio::signal::unix::SignalKind;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::progress::ProgressReporter;
use crate::steps::interruption;

/// SIGHUP: the loss of the terminal.
pub(crate) const HANGUP: i32 = 1;
/// SIGINT: Ctrl-C.
pub(crate) const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;
const ALARM: i32 = 14;
pub(crate) const TERMINATE: i32 = 15;
/// SIGUSR1 and SIGUSR2.
const USER: [i32; 2] = if cfg!(target_os = "linux") { [10, 12] } else { [30, 31] };
/// The signals that ask a process to stop.
pub(crate) const REQUESTS: &[i32] = &[INTERRUPT, TERMINATE, QUIT, USER[0], USER[1], ALARM];

/// The signal with which the keeper forwards others: one that no other program sends.
#[cfg(target_os = "linux")]
pub(crate) const FORWARDED: rustix::process::Signal = rustix::process::Signal::VTALARM;

/// Asks the job to stop at the first signal, and returns at the second.
pub(super) async fn second_signal(ask: &watch::Sender<bool>, reporter: &ProgressReporter) {
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
const MOMENT: Duration = Duration::from_secs(1);
/// The longest delay of a signal to a whole group behind the one that the keeper forwards.
const APART: Duration = Duration::from_millis(20);

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    Direct,
    Forwarded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Hangup,
    Other,
}

/// Signals that this process handles, by their numbers.
#[derive(Default)]
pub(crate) struct SignalSet(Vec<(i32, Handler)>);

#[cfg(unix)]
type Handler = tokio::signal::unix::Signal;
#[cfg(not(unix))]
type Handler = ();

impl SignalSet {
    /// Handles these signals from now on, so that none is missed until [`next`](Self::next).
    pub(crate) fn new(numbers: &[i32]) -> io::Result<Self> {
        #[cfg(unix)]
        let handler = |number| tokio::signal::unix::signal(SignalKind::from_raw(number));
        #[cfg(not(unix))]
        let handler = |_| Ok(());
        let numbers = numbers.iter();
        numbers.map(|&number| Ok((number, handler(number)?))).collect::<io::Result<_>>().map(Self)
    }

    /// Waits for one of them, and returns its number.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> i32 {
        poll_fn(|cx| {
            let arrived = |(number, signal): &mut (i32, Handler)| {
                signal.poll_recv(cx).is_ready().then_some(*number)
            };
            self.0.iter_mut().find_map(arrived).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits for Ctrl-C, the only signal of such systems.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> i32 {
        let is_handled = self.0.iter().any(|(number, ())| *number == INTERRUPT);
        if !is_handled || tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
        INTERRUPT
    }
}

/// The handled signals, by the ways in which they arrive.
struct Signals {
    /// Signals that arrive directly. They may have killed a command, too.
    direct: SignalSet,
    /// Signals that the keeper forwards.
    forwarded: SignalSet,
    hangup: SignalSet,
    requests: Requests,
}

impl Signals {
    fn new() -> Self {
        #[cfg(target_os = "linux")]
        let forwarded: &[i32] = &[FORWARDED.as_raw()];
        #[cfg(not(target_os = "linux"))]
        let forwarded: &[i32] = &[];
        let handled = |numbers| SignalSet::new(numbers).unwrap_or_default();
        Self {
            direct: handled(REQUESTS),
            forwarded: handled(forwarded),
            hangup: handled(hangup()),
            requests: Requests::default(),
        }
    }

    async fn next(&mut self) -> Signal {
        loop {
            let arrival = tokio::select! {
                // A signal to the whole group arrives directly before it is forwarded.
                biased;
                number = self.direct.next() => {
                    interruption::stopped_by(&[number]);
                    Arrival::Direct
                }
                _ = self.forwarded.next() => {
                    // The original signal is not known.
                    interruption::stopped_by(REQUESTS);
                    Arrival::Forwarded
                }
                number = self.hangup.next() => {
                    interruption::stopped_by(&[number]);
                    return Signal::Hangup;
                }
            };
            self.requests.add(arrival, Instant::now());
            if self.requests.is_open()
                && let Ok(number) = timeout(APART, self.direct.next()).await
            {
                interruption::stopped_by(&[number]);
                self.requests.add(Arrival::Direct, Instant::now());
            }
            if self.requests.is_new() {
                return Signal::Other;
            }
        }
    }
}

/// The signal for the loss of the terminal, unless this process was started with `nohup` or alike.
/// Must be called before it is handled, because a handler ends the ignoring.
pub(crate) fn hangup() -> &'static [i32] {
    #[cfg(unix)]
    if !outlives_its_terminal() {
        return &[HANGUP];
    }
    &[]
}

/// Returns whether this process ignores the loss of its terminal.
#[cfg(unix)]
fn outlives_its_terminal() -> bool {
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

#[cfg(test)]
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
