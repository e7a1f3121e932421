//! Consecutive failures: one atomic, `generation << 32 | failures`.
//!
//! While nothing fails, it is only read, by any number of threads at once.

use crate::base::sync::{AtomicU64, Ordering, const_fn};

#[expect(clippy::cast_possible_truncation, reason = "the low half is the count")]
const fn failures(bits: u64) -> u32 {
    bits as u32
}

/// The low 32 bits of the generation are enough: for a mix-up, the state would have to change four
/// billion times during one call.
const fn start_of(generation: u64) -> u64 {
    generation << 32
}

const fn is_of(bits: u64, generation: u64) -> bool {
    bits >> 32 == start_of(generation) >> 32
}

// All accesses are relaxed: a thread that sees the threshold reached takes the lock and checks the
// word again before it changes anything.
pub(super) struct Streak(AtomicU64);

impl Streak {
    const_fn! {
    pub(super) const fn new(generation: u64) -> Self {
        Self(AtomicU64::new(start_of(generation)))
    }
    }

    pub(super) fn restart(&self, generation: u64) {
        // An exchange rather than a store: a read-modify-write is ordered after all others in every
        // interpretation of the memory model, including the model checker's.
        self.0.swap(start_of(generation), Ordering::Relaxed);
    }

    /// Like [`restart`](Self::restart), with failures that another process counted.
    pub(super) fn set(&self, generation: u64, failures: u32) {
        self.0.swap(start_of(generation) | u64::from(failures), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn failures(&self) -> u32 {
        failures(self.0.load(Ordering::Relaxed))
    }

    /// A success of this generation ends the streak.
    pub(super) fn clear(&self, generation: u64) {
        let _unchanged = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bits| {
            (is_of(bits, generation) && failures(bits) > 0).then(|| start_of(generation))
        });
    }

    /// Counts a failure of this generation and returns the new count, or `None` if the generation
    /// is over.
    pub(super) fn add(&self, generation: u64) -> Option<u32> {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bits| {
                let more = if failures(bits) == u32::MAX { bits } else { bits + 1 };
                is_of(bits, generation).then_some(more)
            })
            .ok()
            .map(|before| failures(before).saturating_add(1))
    }
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_past_generation_neither_counts_nor_clears() {
        let streak = Streak::new(7);
        assert_eq!(streak.add(7), Some(1));
        assert_eq!(streak.add(6), None);
        streak.clear(6);
        assert_eq!(streak.failures(), 1);
        streak.clear(7);
        assert_eq!(streak.failures(), 0);
    }

    #[test]
    fn the_count_stops_at_its_end() {
        let streak = Streak(AtomicU64::new(start_of(u64::MAX) | u64::from(u32::MAX)));
        assert_eq!(streak.add(u64::MAX), Some(u32::MAX));
        assert_eq!(streak.add(u64::MAX), Some(u32::MAX));
    }
}
