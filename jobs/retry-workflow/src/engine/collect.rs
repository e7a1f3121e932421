//! [`Collector`]: reports failures of items at the times that the policy's `error_collection` sets.

use tracing::warn;

use crate::item::sanitize::OneLine;
use crate::job::error_policy::ErrorCollection;
use crate::job::event::{ItemFailure, JobEvent, JobListener};

/// Emits failures, and all other events.
pub(super) struct Collector {
    listeners: Vec<JobListener>,
    /// The size of a batch; `None` if failures are only in the report.
    size: Option<usize>,
    collected: Vec<ItemFailure>,
}

impl Collector {
    pub(super) fn new(collection: ErrorCollection, listeners: Vec<JobListener>) -> Self {
        let size = match collection {
            ErrorCollection::Aggregate => None,
            ErrorCollection::Immediate => Some(1),
            ErrorCollection::Batched { size } => Some(size.max(1)),
        };
        Self { listeners, size, collected: Vec::new() }
    }

    pub(super) fn add(&mut self, failure: ItemFailure) {
        let Some(size) = self.size else { return };
        self.collected.push(failure);
        if self.collected.len() >= size {
            self.finish();
        }
    }

    /// Emits the failures of an incomplete batch.
    pub(super) fn finish(&mut self) {
        if self.collected.is_empty() {
            return;
        }
        let failures = std::mem::take(&mut self.collected);
        for ItemFailure { job, item, failure, state, .. } in &failures {
            warn!(
                target: "retry_workflow",
                job = &**job,
                item = %OneLine(item),
                class = failure.class,
                error = %failure,
                state = state.as_str(),
                "an item has failed",
            );
        }
        self.emit(&JobEvent::Failures(&failures));
    }

    /// Returns whether events have a listener.
    pub(super) fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }

    pub(super) fn emit(&self, event: &JobEvent<'_>) {
        for listener in &self.listeners {
            listener(event);
        }
    }
}
