//! A window of the last so many calls: a ring, one word for each call.

use retry_rules::BreakerConfig;

use super::{Outcome, Tally};
use crate::base::sync::{AtomicU32, AtomicU64, Ordering};
use crate::event::transition::Cause;
use crate::protect::breaker::word::{FIRST_GENERATION, GENERATION_IN_WINDOW};

/// `generation << 34 | what`, the high part of the head and of the counts.
const LOW_BITS: u32 = 34;
/// Two counts of up to 65,536 fit below the generation.
const COUNT_BITS: u32 = 17;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

const FAILED: u32 = 1;
const SLOW: u32 = 2;
const FLAG_BITS: u32 = 2;

/// The part of a generation that entries carry; never 0, which is an empty slot.
const fn short(generation: u64) -> u32 {
    (generation & GENERATION_IN_WINDOW) as u32
}

/// Whether `other` is a later generation than `mine`, on the circle of 30 bits.
const fn is_later(other: u32, mine: u32) -> bool {
    let ahead = other.wrapping_sub(mine) & short(GENERATION_IN_WINDOW);
    ahead != 0 && ahead < 1 << 29
}

// Relaxed throughout: the slots hold single facts, not pointers to others, and
// what opens a breaker is decided again under its lock.
pub(in crate::protect::breaker) struct Calls {
    /// `generation << 2 | slow | failed`
    slots: Box<[AtomicU32]>,
    /// `generation << 34 | position`. The position counts from 0, and once it
    /// is beyond the last slot it stays there: at `len..2 * len`.
    head: AtomicU64,
    /// `generation << 34 | slow << 17 | failures`, never less than what the slots hold.
    counts: AtomicU64,
}

impl Calls {
    pub(super) fn new(calls: u32) -> Self {
        let start = FIRST_GENERATION << LOW_BITS;
        Self {
            slots: (0..calls).map(|_| AtomicU32::new(0)).collect(),
            head: AtomicU64::new(start),
            counts: AtomicU64::new(start),
        }
    }

    pub(super) fn restart(&self, generation: u64) {
        let start = u64::from(short(generation)) << LOW_BITS;
        // No stores, for the reason that `Streak::restart` gives.
        self.head.swap(start, Ordering::Relaxed);
        self.counts.swap(start, Ordering::Relaxed);
    }

    pub(super) fn record(
        &self,
        config: &BreakerConfig,
        generation: u64,
        outcome: Outcome,
    ) -> Option<Cause> {
        let mine = short(generation);
        let flags = if outcome.failed { FAILED } else { 0 } | if outcome.slow { SLOW } else { 0 };

        // Added before the slot is written and subtracted after it is
        // overwritten, so that the counts are at times too high, never too low.
        if outcome.is_bad() {
            self.recount(mine, |counts| counts + weight(flags))?;
        }
        let position = self.advance(mine)?;
        let slot = &self.slots[position % self.slots.len()];
        let evicted = slot
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |slot| {
                (!is_later(slot >> FLAG_BITS, mine)).then_some(mine << FLAG_BITS | flags)
            })
            .ok()?;
        if evicted >> FLAG_BITS == mine && weight(evicted) != 0 {
            self.recount(mine, |counts| counts - weight(evicted))?;
        }

        if !outcome.is_bad() {
            return None;
        }
        // The counts say cheaply that there is nothing to do; where they say
        // that there is, the slots have the last word.
        let minimum = config.get_minimum_calls();
        self.estimate(mine)?.verdict(config, minimum)?;
        self.scan(mine).verdict(config, minimum)
    }

    /// The window of the last closed generation.
    pub(super) fn tally(&self) -> Tally {
        self.scan(generation_of(self.head.load(Ordering::Relaxed)))
    }

    fn recount(&self, mine: u32, change: impl Fn(u64) -> u64) -> Option<u64> {
        self.counts
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |counts| {
                (generation_of(counts) == mine).then(|| change(counts))
            })
            .ok()
    }

    fn advance(&self, mine: u32) -> Option<usize> {
        let len = self.slots.len();
        self.head
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |head| {
                let position = position_of(head);
                let next = if position + 1 == 2 * len { head + 1 - len as u64 } else { head + 1 };
                (generation_of(head) == mine).then_some(next)
            })
            .ok()
            .map(position_of)
    }

    fn estimate(&self, mine: u32) -> Option<Tally> {
        let counts = self.counts.load(Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        let calls = position_of(head).min(self.slots.len());
        (generation_of(counts) == mine && generation_of(head) == mine).then(|| Tally {
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            failures: low_count(counts),
            slow: low_count(counts >> COUNT_BITS),
        })
    }

    fn scan(&self, mine: u32) -> Tally {
        let mut tally = Tally::default();
        for slot in &self.slots {
            let slot = slot.load(Ordering::Relaxed);
            if slot >> FLAG_BITS == mine {
                tally.calls += 1;
                tally.failures += u32::from(slot & FAILED != 0);
                tally.slow += u32::from(slot & SLOW != 0);
            }
        }
        tally
    }
}

/// What a slot adds to the counts.
const fn weight(flags: u32) -> u64 {
    let failed = if flags & FAILED == 0 { 0 } else { 1 };
    let slow = if flags & SLOW == 0 { 0 } else { 1 << COUNT_BITS };
    failed | slow
}

const fn generation_of(bits: u64) -> u32 {
    (bits >> LOW_BITS) as u32
}

const fn position_of(head: u64) -> usize {
    (head & ((1 << LOW_BITS) - 1)) as usize
}

const fn low_count(counts: u64) -> u32 {
    (counts & COUNT) as u32
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    const GOOD: Outcome = Outcome { failed: false, slow: false };
    const BAD: Outcome = Outcome { failed: true, slow: false };
    const BOTH: Outcome = Outcome { failed: true, slow: true };
    const CONFIG: BreakerConfig =
        BreakerConfig::new().failure_rate(1.0).window_calls(4).minimum_calls(4);

    #[test]
    fn the_counts_are_those_of_the_slots() {
        let calls = Calls::new(4);
        let outcomes = [GOOD, BAD, BOTH, GOOD, BAD, GOOD, GOOD, BOTH, BOTH, GOOD, BAD, BAD, BAD];
        for (i, outcome) in outcomes.into_iter().cycle().take(1_000).enumerate() {
            calls.record(&CONFIG, 1, outcome);
            assert_eq!(calls.estimate(1), Some(calls.scan(1)), "after {i}");
        }
        assert_eq!(calls.tally().calls, 4);
    }

    #[test]
    fn an_earlier_generation_neither_counts_nor_evicts() {
        let calls = Calls::new(4);
        calls.restart(5);
        for _ in 0..4 {
            calls.record(&CONFIG, 5, GOOD);
        }
        for late in [GOOD, BAD, BOTH] {
            assert_eq!(calls.record(&CONFIG, 4, late), None);
        }
        assert_eq!(calls.tally(), Tally { calls: 4, failures: 0, slow: 0 });
        assert_eq!(calls.estimate(5), Some(calls.tally()));
    }

    #[test]
    fn a_new_generation_begins_empty() {
        let calls = Calls::new(4);
        for _ in 0..3 {
            assert_eq!(calls.record(&CONFIG, 1, BAD), None);
        }
        calls.restart(2);
        assert_eq!(calls.tally(), Tally::default());
        assert_eq!(calls.record(&CONFIG, 2, BAD), None);
        assert_eq!(calls.tally().calls, 1);
    }

    #[test]
    fn the_largest_window_fits_its_counts() {
        let config =
            BreakerConfig::new().failure_rate(1.0).window_calls(65_536).minimum_calls(65_536);
        let calls = Calls::new(65_536);
        for _ in 0..65_535 {
            assert_eq!(calls.record(&config, 1, BOTH), None);
        }
        assert_eq!(calls.record(&config, 1, BOTH), Some(Cause::FailureRate));
        assert_eq!(calls.tally(), Tally { calls: 65_536, failures: 65_536, slow: 65_536 });
    }
}
