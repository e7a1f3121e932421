//! [`Batch`]: the items that are enqueued at once.

use crate::item::record::NewItem;

/// The largest number of items.
const ITEMS: usize = 1_000;
/// The same if their ids are scattered over the store's index, of which each transaction writes
/// most pages, however many items it adds.
const SCATTERED: usize = 16_000;
/// The largest size of their payloads, in bytes: items may be large.
const BYTES: usize = 4 << 20;

/// The items that are enqueued at once.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Batch {
    items: Vec<NewItem>,
    bytes: usize,
    /// The number of ids that come before the one added before them.
    descents: usize,
}

impl Batch {
    /// Adds an item.
    pub fn push(&mut self, item: NewItem) {
        self.bytes += item.payload.len();
        self.descents += usize::from(self.items.last().is_some_and(|last| item.id < last.id));
        self.items.push(item);
    }

    /// Returns whether it has no item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns whether it should be enqueued before it gets another item.
    pub fn is_full(&self) -> bool {
        // In a random order, half of the ids descend.
        let is_scattered = self.descents > self.items.len() / 4;
        let most = if is_scattered { SCATTERED } else { ITEMS };
        self.items.len() >= most || self.bytes >= BYTES
    }

    /// Returns its items; `None` if there are none.
    pub fn into_items(self) -> Option<Vec<NewItem>> {
        (!self.items.is_empty()).then_some(self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of items with these ids in a full batch.
    fn full(ids: impl Fn(u32) -> String) -> usize {
        let mut batch = Batch::default();
        let mut ids = (0..).map(ids);
        while !batch.is_full() {
            batch.push(NewItem::new(ids.next().unwrap(), "7"));
        }
        batch.into_items().map_or(0, |items| items.len())
    }

    #[test]
    fn ids_in_a_random_order_make_a_batch_larger() {
        assert_eq!(full(|n| n.to_string()), ITEMS);
        assert_eq!(full(|n| format!("item {n:09}")), ITEMS);
        assert_eq!(full(|n| format!("{:08x}", n.wrapping_mul(0x9e37_79b9))), SCATTERED);
    }

    #[test]
    fn large_items_make_a_batch_smaller() {
        let mut batch = Batch::default();
        assert!(batch.is_empty());
        for n in 0..4 {
            assert!(!batch.is_full());
            batch.push(NewItem::new(n.to_string(), "x".repeat(1 << 20)));
        }
        assert!(batch.is_full());
    }
}
