//! The changes of an item when it is imported, the same in each store.

use crate::item::clock::{Timestamp, whole_micros};
use crate::item::priority::Priorities;
use crate::item::record::{ItemRecord, ItemState};

impl ItemRecord {
    /// Returns the item as an import stores it. One that was pending or leased is due at `now`,
    /// with the checkpoint of its last attempt, which a dead letter keeps too; fields that do not go
    /// with its state are cleared, because a file that people edit may say anything.
    ///
    /// For your own stores, in [`Store::import`](crate::Store::import).
    ///
    /// ```
    /// use retry_workflow::{ItemRecord, ItemState, Timestamp};
    ///
    /// let mut item = ItemRecord::new("orders-1", "A-17", "{}");
    /// item.state = ItemState::Leased;
    /// let kept = item.imported(Timestamp::from_micros(7));
    /// assert_eq!((kept.state, kept.due), (ItemState::Pending, Some(Timestamp::from_micros(7))));
    /// ```
    #[must_use]
    pub fn imported(mut self, now: Timestamp) -> Self {
        if self.state == ItemState::Leased {
            // Its worker is elsewhere, and does not know this store.
            self.state = ItemState::Pending;
        }
        self.due = (self.state == ItemState::Pending).then_some(now);
        self.checkpoint = self.checkpoint.filter(|_| self.state != ItemState::Succeeded);
        self.ended = self.state.is_final().then(|| self.ended.unwrap_or(now));
        self.output = self.output.filter(|_| self.state == ItemState::Succeeded);
        self.failure =
            self.failure.filter(|_| matches!(self.state, ItemState::Dead | ItemState::Skipped));
        self.priority = Priorities::default().add(self.priority);
        for row in &mut self.history {
            row.duration = whole_micros(row.duration);
            row.wait = whole_micros(row.wait);
        }
        self
    }

    /// Returns the item's own correlation id, if it is not the default `job/id`.
    ///
    /// ```
    /// use retry_workflow::ItemRecord;
    ///
    /// let mut item = ItemRecord::new("orders-1", "A-17", "{}");
    /// assert_eq!(item.own_correlation(), None);
    /// item.correlation = "web-4711".to_owned();
    /// assert_eq!(item.own_correlation(), Some("web-4711"));
    /// ```
    pub fn own_correlation(&self) -> Option<&str> {
        let rest = self.correlation.strip_prefix(self.job.as_str());
        let is_own = rest.and_then(|rest| rest.strip_prefix('/')) != Some(self.id.as_str());
        is_own.then_some(self.correlation.as_str())
    }
}
