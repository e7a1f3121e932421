//! The priorities of items, and [`Priorities`]: the priorities that occur in a job.

use std::ops::RangeInclusive;

/// The priorities that an item can have: the higher, the sooner. A number beyond these counts as
/// the nearest one.
pub const PRIORITIES: RangeInclusive<i8> = -9..=9;

/// The priorities that the items of a job have, or had: one bit for each, so that a store keeps
/// them as a number beside the job. 0 is always among them.
///
/// For your own stores: a claim goes through them from the highest on, and so does not look for
/// priorities that no item ever had.
///
/// ```
/// use retry_workflow::store::Priorities;
///
/// let mut known = Priorities::default();
/// assert_eq!((known.add(-2), known.add(100)), (-2, 9));
/// assert_eq!(known.highest_first().collect::<Vec<_>>(), [9, 0, -2]);
/// assert_eq!(Priorities::from_bits(known.bits()), known);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Priorities(u32);

impl Default for Priorities {
    fn default() -> Self {
        Self(bit(0))
    }
}

impl Priorities {
    /// Returns the priorities that [`bits`](Self::bits) stood for; 0 stands for a job without any.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits | bit(0))
    }

    /// Returns one bit for each priority: the lowest one is for −9.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Adds the priority of an item, and returns what it counts as: the nearest of [`PRIORITIES`].
    pub fn add(&mut self, priority: i8) -> i8 {
        let nearest = priority.clamp(*PRIORITIES.start(), *PRIORITIES.end());
        self.0 |= bit(nearest);
        nearest
    }

    /// Returns them, the highest one first.
    pub fn highest_first(self) -> impl Iterator<Item = i8> {
        PRIORITIES.rev().filter(move |priority| self.0 & bit(*priority) != 0)
    }
}

const fn bit(priority: i8) -> u32 {
    1 << (priority - *PRIORITIES.start())
}
