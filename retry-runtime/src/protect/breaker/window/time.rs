//! A window of the last so long: ten slices, one word for each.
//!
//! It moves on by a tenth at a time, so it looks back over at least nine tenths
//! of its span.

use core::time::Duration;

use retry_rules::BreakerConfig;

use super::{Outcome, Tally};
use crate::base::sync::{AtomicU64, Ordering};
use crate::event::transition::Cause;
use crate::protect::breaker::stamp;
use crate::protect::breaker::word::FIRST_GENERATION;

const SLICES: u64 = 10;

/// Three counts, below 28 bits that say whose they are.
const COUNT_BITS: u32 = 12;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const OWNER_AT: u32 = 3 * COUNT_BITS;
/// An owner is `slice << 6 | generation`, each cut to its low bits. The slices go
/// round once in four million: what was noted in a window of 10 s looks new again
/// after 48 days of silence, for the length of a window.
const SLICE_BITS: u32 = 22;
const GENERATION_BITS: u32 = 6;

/// What looks later than now by up to so many slices was noted while this thread
/// was asleep; what looks later still is old, and the circle has hidden it.
const ASLEEP: u64 = 16 * SLICES;

/// A slice that is full is halved, so a window may know of no more calls than
/// half a slice holds, although many more were made. A rate over so many calls
/// is as good as one over more.
const LARGEST_MINIMUM: u32 = 1 << (COUNT_BITS - 1);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    slice: u64,
    generation: u64,
}

impl Owner {
    const fn new(slice: u64, generation: u64) -> Self {
        Self {
            slice: slice & ((1 << SLICE_BITS) - 1),
            generation: generation & ((1 << GENERATION_BITS) - 1),
        }
    }

    /// How many slices `self` is after `other`, on their circle.
    const fn after(self, other: Self) -> u64 {
        self.slice.wrapping_sub(other.slice) & ((1 << SLICE_BITS) - 1)
    }
}

#[derive(Clone, Copy)]
struct Slice {
    owner: Owner,
    calls: u64,
    failures: u64,
    slow: u64,
}

impl Slice {
    const fn empty(owner: Owner) -> Self {
        Self { owner, calls: 0, failures: 0, slow: 0 }
    }

    const fn unpack(bits: u64) -> Self {
        let owner = bits >> OWNER_AT;
        Self {
            owner: Owner::new(owner >> GENERATION_BITS, owner),
            calls: bits >> (2 * COUNT_BITS) & COUNT,
            failures: bits >> COUNT_BITS & COUNT,
            slow: bits & COUNT,
        }
    }

    const fn pack(self) -> u64 {
        let owner = self.owner.slice << GENERATION_BITS | self.owner.generation;
        owner << OWNER_AT | self.calls << (2 * COUNT_BITS) | self.failures << COUNT_BITS | self.slow
    }

    fn with(mut self, outcome: Outcome) -> Self {
        if self.calls == COUNT {
            // The rates stay, the numbers fit again.
            self.calls /= 2;
            self.failures /= 2;
            self.slow /= 2;
        }
        self.calls += 1;
        self.failures += u64::from(outcome.failed);
        self.slow += u64::from(outcome.slow);
        self
    }
}

pub(in crate::protect::breaker) struct Time {
    slices: Box<[AtomicU64]>,
    /// Nanoseconds; at least 1.
    slice: u64,
    /// The last closed one, for those who only look.
    generation: AtomicU64,
}

impl Time {
    pub(super) fn new(span: Duration) -> Self {
        Self {
            slices: (0..SLICES).map(|_| AtomicU64::new(0)).collect(),
            slice: (stamp::nanos_of(span) / SLICES).max(1),
            generation: AtomicU64::new(FIRST_GENERATION),
        }
    }

    pub(super) fn restart(&self, generation: u64) {
        self.generation.store(generation, Ordering::Relaxed);
        for slice in &self.slices {
            slice.store(0, Ordering::Release);
        }
    }

    /// `is_present`: whether the generation is still the breaker's.
    pub(super) fn record(
        &self,
        config: &BreakerConfig,
        generation: u64,
        outcome: Outcome,
        is_present: impl Fn() -> bool,
    ) -> Option<Cause> {
        let now = stamp::nanos() / self.slice;
        let mine = Owner::new(now, generation);
        let place = &self.slices[(now % SLICES) as usize];
        let noted = place.fetch_update(Ordering::AcqRel, Ordering::Acquire, |bits| {
            let present = Slice::unpack(bits);
            let before = if present.owner == mine {
                present
            } else if present.owner.generation == mine.generation
                && present.owner.after(mine) <= ASLEEP
                && bits != 0
            {
                // This thread was asleep for a window or more.
                return None;
            } else if is_present() {
                Slice::empty(mine)
            } else {
                return None;
            };
            Some(before.with(outcome).pack())
        });
        if noted.is_err() || !outcome.is_bad() {
            return None;
        }
        self.sum(mine).verdict(config, config.get_minimum_calls().min(LARGEST_MINIMUM))
    }

    /// The window of the last closed generation.
    pub(super) fn tally(&self) -> Tally {
        let now = stamp::nanos() / self.slice;
        self.sum(Owner::new(now, self.generation.load(Ordering::Relaxed)))
    }

    fn sum(&self, now: Owner) -> Tally {
        let mut sum = Tally::default();
        for slice in &self.slices {
            let slice = Slice::unpack(slice.load(Ordering::Acquire));
            if slice.owner.generation == now.generation && now.after(slice.owner) < SLICES {
                let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
                sum.calls += count(slice.calls);
                sum.failures += count(slice.failures);
                sum.slow += count(slice.slow);
            }
        }
        sum
    }
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    const GOOD: Outcome = Outcome { failed: false, slow: false };
    const BAD: Outcome = Outcome { failed: true, slow: false };
    const CONFIG: BreakerConfig = BreakerConfig::new().failure_rate(1.0);

    fn yes() -> bool {
        true
    }

    #[test]
    fn a_full_slice_is_halved_and_keeps_its_rate() {
        let time = Time::new(Duration::MAX);
        for i in 0..100_000 {
            time.record(&CONFIG, 1, if i % 4 == 0 { BAD } else { GOOD }, yes);
        }
        let Tally { calls, failures, slow } = time.tally();
        assert!((LARGEST_MINIMUM..1 << COUNT_BITS).contains(&calls), "{calls}");
        let rate = f64::from(failures) / f64::from(calls);
        assert!((rate - 0.25).abs() < 0.01, "{rate}");
        assert_eq!(slow, 0);
    }

    #[test]
    fn no_minimum_is_out_of_reach() {
        let config = CONFIG.window_time(Duration::MAX).minimum_calls(u32::MAX);
        let time = Time::new(Duration::MAX);
        let opened = (0..20_000).any(|_| time.record(&config, 1, BAD, yes).is_some());
        assert!(opened);
    }

    #[test]
    fn an_earlier_generation_changes_nothing() {
        let time = Time::new(Duration::MAX);
        time.restart(3);
        time.record(&CONFIG, 3, GOOD, yes);
        assert_eq!(time.record(&CONFIG, 1, BAD, || false), None);
        assert_eq!(time.tally(), Tally { calls: 1, failures: 0, slow: 0 });
    }

    #[test]
    fn a_slice_survives_its_packing() {
        let slice =
            Slice { owner: Owner::new(u64::MAX, u64::MAX), calls: COUNT, failures: 1, slow: 2 };
        let again = Slice::unpack(slice.pack());
        assert_eq!(again.pack(), slice.pack());
        assert!(again.owner == slice.owner && again.calls == COUNT && again.failures == 1);
    }
}
