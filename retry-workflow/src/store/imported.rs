//! What becomes of an item that comes from elsewhere, the same in each store.

use super::tally::whole;
use crate::item::clock::Timestamp;
use crate::item::record::{ItemRecord, ItemState};

/// The item as it is kept: it has what its state has, and no more. A file that people
/// edit may say anything.
pub(super) fn as_kept(mut item: ItemRecord, now: Timestamp) -> ItemRecord {
    if item.state == ItemState::Leased {
        // Its worker is elsewhere, and does not know this store.
        item.state = ItemState::Pending;
    }
    item.due = (item.state == ItemState::Pending).then_some(now);
    item.ended = item.state.is_final().then(|| item.ended.unwrap_or(now));
    item.output = item.output.filter(|_| item.state == ItemState::Succeeded);
    item.failure =
        item.failure.filter(|_| matches!(item.state, ItemState::Dead | ItemState::Skipped));
    for row in &mut item.history {
        row.duration = whole(row.duration);
        row.wait = whole(row.wait);
    }
    item
}

/// The correlation id that it was given, where it is not the one that every item has.
pub(super) fn own_correlation(item: &ItemRecord) -> Option<String> {
    let is_own =
        item.correlation.strip_prefix(item.job.as_str()).and_then(|rest| rest.strip_prefix('/'))
            != Some(item.id.as_str());
    is_own.then(|| item.correlation.clone())
}
