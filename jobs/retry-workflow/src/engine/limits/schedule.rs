//! [`JobSchedule`]: when the items of a job may begin.

use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::item::failure::{Failure, LATE};
use crate::item::lease::Lease;
use crate::job::moment::Moment;
use crate::words::moment;

/// The times at which the items of a job may begin.
#[derive(Debug, Default)]
pub(in crate::engine) struct JobSchedule {
    /// No item begins before.
    not_before: Option<Timestamp>,
    /// Set if something else has to happen first.
    waits_to_start: bool,
    /// Items that have not begun by then are skipped.
    skip_after: Option<Timestamp>,
}

impl JobSchedule {
    pub(in crate::engine) fn new(
        (not_before, skip_after): (Option<Moment>, Option<Moment>),
        waits_to_start: bool,
        created: Timestamp,
    ) -> Self {
        let at = |moment: Option<Moment>| moment.map(|one| one.of(created));
        Self { not_before: at(not_before), waits_to_start, skip_after: at(skip_after) }
    }

    /// Notes that what had to happen first has happened.
    pub(in crate::engine) fn start(&mut self) {
        self.waits_to_start = false;
    }

    /// Returns how long until items may begin, zero if that is not known; `None` if they may.
    pub(in crate::engine) fn closed_for(&self, now: impl Fn() -> Timestamp) -> Option<Duration> {
        let wait = self.not_before.map(|at| at.since(now())).filter(|wait| !wait.is_zero());
        wait.or_else(|| self.waits_to_start.then_some(Duration::ZERO))
    }

    /// Returns why an item that was claimed is skipped: it has not begun, and it is too late.
    pub(in crate::engine) fn too_late(
        &self,
        lease: &Lease,
        now: impl Fn() -> Timestamp,
    ) -> Option<Failure> {
        let late = self.skip_after.filter(|at| *at <= now())?;
        // One that was postponed has begun.
        let is_new = lease.run == 0 && lease.attempt == 1 && lease.checkpoint.is_none();
        let message = || format!("it had not begun by {}, its `skip_after`", moment(late));
        is_new.then(|| Failure::new(LATE, message()))
    }
}
