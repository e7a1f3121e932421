//! Updates the counts of a job as its items move.

use crate::item::record::{Counts, ItemState};

/// Counts an item that moves from one state to another; a new item comes from none.
pub(in crate::store::sqlite) fn count_move(
    counts: &mut Counts,
    from: Option<ItemState>,
    to: ItemState,
) {
    if let Some(from) = from {
        let count = counter(counts, from);
        *count = count.saturating_sub(1);
    }
    let count = counter(counts, to);
    *count = count.saturating_add(1);
}

/// The job that this key has the record of.
pub(in crate::store::sqlite) fn job_of_record(key: &str) -> Option<&str> {
    key.strip_prefix("job/")
}

fn counter(counts: &mut Counts, state: ItemState) -> &mut u64 {
    match state {
        ItemState::Pending => &mut counts.pending,
        ItemState::Leased => &mut counts.leased,
        ItemState::Succeeded => &mut counts.succeeded,
        ItemState::Dead => &mut counts.dead,
        ItemState::Skipped => &mut counts.skipped,
    }
}
