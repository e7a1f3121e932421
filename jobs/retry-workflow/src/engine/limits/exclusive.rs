//! [`HandlerAccess`]: the right to run handlers, which all jobs of a process share: many at a time,
//! or one suspect alone. If the process dies then, the suspect is to blame.

use std::future::Future;
use std::time::Duration;

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::Instant;

use crate::item::clock::{is_in_handler, virtual_now};

/// One for the whole process, because a handler that kills it takes all jobs down.
static HANDLER_LOCK: RwLock<()> = RwLock::const_new(());

thread_local! {
    /// The one of a test with a paused clock, which would run ahead while the job waits for a
    /// handler of another test.
    static LOCK_OF_TEST: &'static RwLock<()> = Box::leak(Box::new(RwLock::const_new(())));
}

/// The time for which one job may run suspects before others are admitted.
const TURN: Duration = Duration::from_secs(1);

/// The right to run handlers beside the handlers of other jobs.
pub(in crate::engine) type SharedAccess = RwLockReadGuard<'static, ()>;
/// The right to run one handler alone.
pub(in crate::engine) type Exclusive = RwLockWriteGuard<'static, ()>;

/// The access that one job has.
pub(in crate::engine) struct HandlerAccess {
    /// Set if a handler of another job runs this one: that job has the right already, and
    /// waits for this one.
    is_nested: bool,
    lock: &'static RwLock<()>,
    hold: Hold,
    waits_for_exclusive: bool,
}

enum Hold {
    Nothing,
    Shared { _guard: Option<SharedAccess> },
    Exclusive { _guard: Option<Exclusive>, since: Instant },
}

/// The lock to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Admission {
    Shared,
    Exclusive,
}

impl HandlerAccess {
    pub(in crate::engine) fn new() -> Self {
        let lock = virtual_now().map_or(&HANDLER_LOCK, |_| LOCK_OF_TEST.with(|lock| *lock));
        Self { is_nested: is_in_handler(), lock, hold: Hold::Nothing, waits_for_exclusive: false }
    }

    /// Returns whether another handler may start while this many of this job are running.
    pub(in crate::engine) fn admits(&mut self, running: usize) -> bool {
        match self.hold {
            Hold::Exclusive { .. } => running == 0,
            // Another job that waits to run alone comes first.
            Hold::Shared { .. } => self.is_nested || self.lock.try_read().is_ok(),
            Hold::Nothing if self.is_nested => {
                self.hold = Hold::Shared { _guard: None };
                true
            }
            Hold::Nothing => match self.lock.try_read() {
                Ok(guard) => {
                    self.entered(guard);
                    true
                }
                Err(_) => false,
            },
        }
    }

    /// Returns whether claiming makes sense: items that start with a claim must not be kept
    /// waiting.
    pub(in crate::engine) fn is_open(&self) -> bool {
        let is_free = || self.is_nested || self.lock.try_read().is_ok();
        !self.waits_for_exclusive && !self.is_exclusive() && is_free()
    }

    /// Notes that no handler of this job is running.
    pub(in crate::engine) fn is_empty(&mut self) {
        if matches!(self.hold, Hold::Shared { .. }) {
            self.hold = Hold::Nothing;
        }
    }

    /// Takes on no more work, and waits to be alone.
    pub(in crate::engine) fn request_exclusive(&mut self) {
        self.waits_for_exclusive = true;
    }

    pub(in crate::engine) fn waits_for_exclusive(&self) -> bool {
        self.waits_for_exclusive
    }

    /// Returns the lock to wait for next; `idle` is set if this job has no work in hand.
    pub(in crate::engine) fn admission(&mut self, idle: bool) -> Option<Admission> {
        match self.hold {
            Hold::Nothing if !idle => (!self.is_nested).then_some(Admission::Shared),
            Hold::Nothing if self.waits_for_exclusive && self.is_nested => {
                self.enter_exclusive(None);
                None
            }
            Hold::Nothing if self.waits_for_exclusive => Some(Admission::Exclusive),
            _ => None,
        }
    }

    pub(in crate::engine) fn entered(&mut self, guard: SharedAccess) {
        self.hold = Hold::Shared { _guard: Some(guard) };
    }

    pub(in crate::engine) fn enter_exclusive(&mut self, guard: Option<Exclusive>) {
        self.hold = Hold::Exclusive { _guard: guard, since: Instant::now() };
    }

    pub(in crate::engine) fn is_exclusive(&self) -> bool {
        matches!(self.hold, Hold::Exclusive { .. })
    }

    /// Returns whether it is another job's turn.
    pub(in crate::engine) fn turn_has_ended(&self) -> bool {
        matches!(self.hold, Hold::Exclusive { since, .. } if since.elapsed() >= TURN)
    }

    /// Gives the right up: no suspect is to run any more.
    pub(in crate::engine) fn leave(&mut self) {
        (self.hold, self.waits_for_exclusive) = (Hold::Nothing, false);
    }

    /// Waits for the right to run handlers.
    pub(in crate::engine) fn shared(&self) -> impl Future<Output = SharedAccess> + Send + use<> {
        self.lock.read()
    }

    /// Waits until no handler of this process is running.
    pub(in crate::engine) fn exclusive(&self) -> impl Future<Output = Exclusive> + Send + use<> {
        self.lock.write()
    }
}
