//! [`Latencies`]: the times of a function's attempts, for hedges that follow a percentile.

use core::mem;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use crate::base::clock::{self, Instant};

/// Buckets for each doubling: each is 9 % wider than the one before.
const PER_OCTAVE: u32 = 8;
/// From a microsecond to an hour; what is shorter or longer counts in the first or the last one.
const OCTAVES: u32 = 32;
const BUCKETS: usize = (PER_OCTAVE * OCTAVES) as usize;
/// No percentile is known before this many calls.
const WARM: u32 = 100;
/// After this many calls all buckets are halved, so that old calls count less and less.
const HALVED_AT: u32 = 2_000;
/// The percentile is computed once for this many calls.
const REFRESHED_EVERY: u32 = 50;

/// The times of a function's attempts, in buckets, and a percentile of them.
///
/// A success counts with the time of its attempt, the hedges included. With the time of the winner
/// alone, the percentile would sink with each hedge that wins, and more and more calls would be
/// hedged.
///
/// An attempt that is cut off or fails would have taken longer to succeed. Its time counts if it is
/// not below the percentile, so that the percentile rises when all attempts run into a timeout. A
/// shorter time is ignored: failures that come at once must not lower the percentile.
///
/// Relaxed throughout: a number guards no other data.
pub struct Latencies {
    percent: u32,
    buckets: [AtomicU32; BUCKETS],
    count: AtomicU32,
    /// In nanoseconds; 0 if it is not known yet.
    percentile: AtomicU64,
}

/// The time of an attempt, recorded when this is dropped, or by [`succeeded`](Self::succeeded).
pub struct Measured<'a> {
    latencies: &'a Latencies,
    began: Instant,
}

impl Measured<'_> {
    /// Records the time of an attempt that has succeeded.
    pub fn succeeded(self) {
        self.latencies.record(bucket(self.elapsed()));
        mem::forget(self);
    }

    fn elapsed(&self) -> Duration {
        clock::now().saturating_duration_since(self.began)
    }
}

/// Records the time of an attempt that has failed, or was cut off by a limit or by its caller.
impl Drop for Measured<'_> {
    #[cold]
    fn drop(&mut self) {
        self.latencies.record_unsuccessful(bucket(self.elapsed()));
    }
}

impl Latencies {
    /// Of a function that has not been called yet.
    pub const fn new(percent: u32) -> Self {
        Self {
            percent,
            buckets: [const { AtomicU32::new(0) }; BUCKETS],
            count: AtomicU32::new(0),
            percentile: AtomicU64::new(0),
        }
    }

    /// The percentile, or `None` while there are too few calls to know it.
    pub(crate) fn percentile(&self) -> Option<Duration> {
        match self.percentile.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// Measures an attempt that begins now.
    pub fn measure(&self) -> Measured<'_> {
        Measured { latencies: self, began: clock::now() }
    }

    fn record_unsuccessful(&self, bucket: usize) {
        // By buckets: a limit that has become the percentile must go on counting.
        if self.percentile().is_some_and(|known| upper_bound(bucket) >= clock::nanos_of(known)) {
            self.record(bucket);
        }
    }

    fn record(&self, bucket: usize) {
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let count = self.count.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if count >= WARM && count % REFRESHED_EVERY == 0 {
            self.refresh();
        }
        if count >= HALVED_AT {
            self.halve();
        }
    }

    #[cold]
    fn refresh(&self) {
        let counts = self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
        let all: u64 = counts.iter().copied().map(u64::from).sum();
        // Of 100 calls, the 96th is above the 95th percentile.
        let below = all * u64::from(self.percent) / 100;
        let mut seen = 0;
        let at = counts.iter().position(|count| {
            seen += u64::from(*count);
            seen > below
        });
        let percentile = at.map_or(0, upper_bound);
        self.percentile.store(percentile, Ordering::Relaxed);
    }

    #[cold]
    fn halve(&self) {
        self.count.store(HALVED_AT / 2, Ordering::Relaxed);
        for bucket in &self.buckets {
            bucket.store(bucket.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
    }
}

/// The bucket of a time.
fn bucket(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    let octave = micros.ilog2();
    // The three bits after the leading one.
    let below = if octave >= 3 { micros >> (octave - 3) } else { micros << (3 - octave) };
    let part = (below & 7) as usize;
    (octave as usize * PER_OCTAVE as usize + part).min(BUCKETS - 1)
}

/// The end of a bucket, in nanoseconds.
fn upper_bound(bucket: usize) -> u64 {
    let (octave, part) = (bucket / PER_OCTAVE as usize, bucket as u64 % 8);
    // Eighths of a power of two, in nanoseconds.
    ((1_u64 << octave) * 125).saturating_mul(part + 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_below_the_end_of_its_bucket_and_above_that_of_the_one_before() {
        for micros in [1, 2, 3, 7, 8, 9, 100, 999, 1_000, 65_536, 5_000_000, 3_000_000_000] {
            let at = bucket(Duration::from_micros(micros));
            let nanos = micros * 1_000;
            assert!(nanos < upper_bound(at), "{micros}");
            assert!(at == 0 || nanos >= upper_bound(at - 1), "{micros}");
        }
    }

    #[test]
    fn the_percentile_is_unknown_at_first_and_then_within_a_bucket() {
        let latencies = Latencies::new(95);
        for call in 1..=99 {
            latencies.record(bucket(Duration::from_millis(call)));
        }
        assert_eq!(latencies.percentile(), None);
        latencies.record(bucket(Duration::from_millis(100)));
        let percentile = latencies.percentile().expect("there are a hundred calls");
        assert!(percentile >= Duration::from_millis(95), "{percentile:?}");
        assert!(percentile <= Duration::from_millis(108), "{percentile:?}");
    }

    #[test]
    fn it_follows_a_service_that_becomes_slower() {
        let latencies = Latencies::new(95);
        for _ in 0..10_000 {
            latencies.record(bucket(Duration::from_millis(10)));
        }
        assert!(latencies.percentile() < Some(Duration::from_millis(12)));
        for _ in 0..500 {
            latencies.record(bucket(Duration::from_millis(100)));
        }
        assert!(latencies.percentile() > Some(Duration::from_millis(99)));
    }
}
