//! [`Unsettled`]: items that are done and not settled yet, as far as bounds count them.

use super::attempt::Completion;
use crate::item::record::ItemState;

/// What ends with items that are done and not settled yet.
#[derive(Default)]
pub(super) struct Unsettled {
    pub(super) ended: u64,
    pub(super) failed: u64,
    /// Items whose failure stops the job.
    pub(super) stops: u64,
}

impl Unsettled {
    pub(super) fn of(finished: &Completion) -> Self {
        let failed = finished.state.is_some_and(|state| state != ItemState::Succeeded);
        Self {
            ended: finished.state.is_some().into(),
            failed: failed.into(),
            stops: finished.stops.into(),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ended += other.ended;
        self.failed += other.failed;
        self.stops += other.stops;
    }

    pub(super) fn remove(&mut self, other: &Self) {
        self.ended -= other.ended;
        self.failed -= other.failed;
        self.stops -= other.stops;
    }
}
