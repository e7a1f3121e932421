//! Consecutive failures: one atomic, `generation << 32 | failures`.
//!
//! While nothing fails it is only read, by any number of threads at once.

use crate::base::sync::{AtomicU64, Ordering, const_fn};

#[expect(clippy::cast_possible_truncation, reason = "the low half is the count")]
const fn failures(bits: u64) -> u32 {
    bits as u32
}

/// The low 32 bits of a generation do: four thousand million changes within one
/// call would be needed to mistake it.
const fn start_of(generation: u64) -> u64 {
    generation << 32
}

const fn is_of(bits: u64, generation: u64) -> bool {
    bits >> 32 == start_of(generation) >> 32
}

// All of it is relaxed: whoever finds the threshold reached takes the lock and
// looks at the word again before anything happens.
pub(super) struct Streak(AtomicU64);

impl Streak {
    const_fn! {
    pub(super) const fn new(generation: u64) -> Self {
        Self(AtomicU64::new(start_of(generation)))
    }
    }

    pub(super) fn restart(&self, generation: u64) {
        // No store: an exchange is after all others by any reading of the memory
        // model, that of the model checker included.
        self.0.swap(start_of(generation), Ordering::Relaxed);
    }

    /// As [`restart`](Self::restart), with failures that another process has counted.
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

    /// Counts a failure of this generation and says how many there are now, or
    /// nothing if the generation is past.
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
