//! [`Floor`]: where the handlers of all jobs of a process run: many at a time, or a suspect
//! alone. Whoever dies with it then, dies by its own fault.

use std::future::Future;
use std::time::Duration;

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::Instant;

use crate::item::clock::is_in_handler;

/// One for the process: a handler that takes it down takes all jobs along.
static FLOOR: RwLock<()> = RwLock::const_new(());

/// After so long others are let in, though more suspects are due.
const TURN: Duration = Duration::from_secs(1);

/// Leave to run handlers beside those of other jobs.
pub(super) type Shared = RwLockReadGuard<'static, ()>;
/// Leave to run one alone.
pub(super) type Exclusive = RwLockWriteGuard<'static, ()>;

/// What one job has of the floor.
pub(super) struct Floor {
    /// A handler of another job runs this one: it has the floor already, and waits for this job.
    is_nested: bool,
    hold: Hold,
    wants_alone: bool,
}

enum Hold {
    Nothing,
    Shared { _leave: Option<Shared> },
    Alone { _leave: Option<Exclusive>, since: Instant },
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    Shared,
    Alone,
}

impl Floor {
    pub(super) fn new() -> Self {
        Self { is_nested: is_in_handler(), hold: Hold::Nothing, wants_alone: false }
    }

    /// Whether a handler may start beside this many of this job.
    pub(super) fn admits(&mut self, running: usize) -> bool {
        match self.hold {
            Hold::Alone { .. } => running == 0,
            // Another job that waits to be alone lets nobody in before it.
            Hold::Shared { .. } => self.is_nested || FLOOR.try_read().is_ok(),
            Hold::Nothing if self.is_nested => {
                self.hold = Hold::Shared { _leave: None };
                true
            }
            Hold::Nothing => match FLOOR.try_read() {
                Ok(leave) => {
                    self.entered(leave);
                    true
                }
                Err(_) => false,
            },
        }
    }

    /// Whether items are worth claiming: those that start are not kept waiting.
    pub(super) fn is_open(&self) -> bool {
        let is_free = || self.is_nested || FLOOR.try_read().is_ok();
        !self.wants_alone && !self.is_alone() && is_free()
    }

    /// No handler of this job runs.
    pub(super) fn is_empty(&mut self) {
        if matches!(self.hold, Hold::Shared { .. }) {
            self.hold = Hold::Nothing;
        }
    }

    /// Takes nothing more on, and waits to be alone.
    pub(super) fn want_alone(&mut self) {
        self.wants_alone = true;
    }

    pub(super) fn wants_alone(&self) -> bool {
        self.wants_alone
    }

    /// What there is to wait for, where `idle` says whether this job has nothing in its hands.
    pub(super) fn entrance(&mut self, idle: bool) -> Option<Entrance> {
        match self.hold {
            Hold::Nothing if !idle => (!self.is_nested).then_some(Entrance::Shared),
            Hold::Nothing if self.wants_alone && self.is_nested => {
                self.alone(None);
                None
            }
            Hold::Nothing if self.wants_alone => Some(Entrance::Alone),
            _ => None,
        }
    }

    pub(super) fn entered(&mut self, leave: Shared) {
        self.hold = Hold::Shared { _leave: Some(leave) };
    }

    pub(super) fn alone(&mut self, leave: Option<Exclusive>) {
        self.hold = Hold::Alone { _leave: leave, since: Instant::now() };
    }

    pub(super) fn is_alone(&self) -> bool {
        matches!(self.hold, Hold::Alone { .. })
    }

    /// Whether it is another job's turn.
    pub(super) fn turn_has_ended(&self) -> bool {
        matches!(self.hold, Hold::Alone { since, .. } if since.elapsed() >= TURN)
    }

    /// No suspect is to run any more.
    pub(super) fn leave(&mut self) {
        (self.hold, self.wants_alone) = (Hold::Nothing, false);
    }
}

/// Waits for leave to run handlers.
pub(super) fn shared() -> impl Future<Output = Shared> + Send {
    FLOOR.read()
}

/// Waits until no handler of this process runs.
pub(super) fn exclusive() -> impl Future<Output = Exclusive> + Send {
    FLOOR.write()
}
