//! Shared by the tests: a log of calls, an error of every kind, and a subscriber that collects what
//! the library reports.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Mutex, Once};
use std::thread;
use std::time::Duration;

use retry_runtime::{CircuitBreaker, Class, Classify, Interrupted};
use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns once the breaker has refused this many calls.
pub(crate) fn until_refused(breaker: &CircuitBreaker, calls: u64) {
    while breaker.snapshot().outcomes.rejected < calls {
        thread::yield_now();
    }
}

/// The calls that were made, and when.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<Vec<Instant>>);

impl Calls {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Records a call; returns its number, from 1.
    pub(crate) fn make(&self) -> u32 {
        let mut calls = self.0.lock().unwrap();
        calls.push(Instant::now());
        u32::try_from(calls.len()).unwrap()
    }

    pub(crate) fn made(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The times between consecutive calls.
    pub(crate) fn gaps(&self) -> Vec<Duration> {
        self.0.lock().unwrap().windows(2).map(|two| two[1] - two[0]).collect()
    }
}

/// A user's own error type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The number of the call.
    Busy(u32),
    Corrupt,
    /// The server asks for a wait.
    SlowDown(Duration),
    Interrupted(Interrupted),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(call) => write!(f, "busy at call {call}"),
            Self::Corrupt => f.write_str("corrupt"),
            Self::SlowDown(wait) => write!(f, "slow down for {wait:?}"),
            Self::Interrupted(interrupted) => interrupted.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Interrupted> for Failure {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl Failure {
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self {
            Self::SlowDown(wait) => Some(*wait),
            _ => None,
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_))
    }
}

/// An error that classifies itself and asks for a wait.
#[derive(Debug)]
pub(crate) struct Classified(pub(crate) Class, pub(crate) Option<Duration>);

impl fmt::Display for Classified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it speaks for itself")
    }
}

impl std::error::Error for Classified {}

impl Classify for Classified {
    fn class(&self) -> Class {
        self.0
    }

    fn retry_after(&self) -> Option<Duration> {
        self.1
    }
}

/// One event with the target `retry`: level, message, fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) fields: Vec<(&'static str, String)>,
}

impl Recorded {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.as_str())
    }
}

thread_local! {
    static EVENTS: RefCell<Vec<Recorded>> = const { RefCell::new(Vec::new()) };
}

/// The events on this thread since the last call of this function or of [`listen`].
pub(crate) fn take_events() -> Vec<Recorded> {
    EVENTS.take()
}

/// Starts collecting events.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    // One for the whole program: the subscriber of a single thread would have to share the cached
    // interest of each call site with the tests on other threads.
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(Collector).expect("nobody else listens");
    });
    EVENTS.take();
}

struct Collector;

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "retry"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let Line { message, fields } = line;
        let level = *event.metadata().level();
        EVENTS.with_borrow_mut(|heard| heard.push(Recorded { level, message, fields }));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.fields.push((field.name(), format!("{value:?}")));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.push((field.name(), value.to_owned()));
    }
}
