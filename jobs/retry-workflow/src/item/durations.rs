//! The durations of attempts, in fixed buckets: [`Histogram`], and [`Durations`], which has one for
//! each step. A store keeps them by the minute, so that histories need not be read for this.

use std::time::Duration;

use crate::item::clock::micros;
use crate::item::record::{AttemptRecord, Settlement};

/// A store keeps the durations of the last hour of a job; older minutes may be gone.
pub const DURATIONS_KEPT: Duration = Duration::from_secs(3_600);

/// The largest number of steps whose durations are kept apart; further ones count as
/// [`OTHER_STEPS`]. The names come from users, and might contain the id of an item.
pub const MAX_STEPS: usize = 100;

/// The step that stands for those beyond [`MAX_STEPS`].
pub const OTHER_STEPS: &str = "other";

/// A longer name of a step is cut to this many bytes, because it is part of a key in a database.
const LONGEST_STEP: usize = 200;

/// Six buckets for each power of ten.
const PER_DECADE: usize = 6;

/// The upper bounds of these six, in microseconds: from 1 ms on, each about 1.5 times the one
/// before.
const STEPS: [i64; PER_DECADE] = [1_000, 1_500, 2_200, 3_300, 4_700, 6_800];

/// The reported value of the bucket above each of these bounds: the geometric mean of its two
/// bounds, rounded to two digits.
const MIDDLES: [i64; PER_DECADE] = [1_200, 1_800, 2_700, 3_900, 5_700, 8_200];

/// Up to 1,000,000 s, which is eleven and a half days.
const BOUNDS: [i64; 9 * PER_DECADE + 1] = {
    let mut bounds = [0; 9 * PER_DECADE + 1];
    let (mut at, mut power) = (0, 1);
    while at < bounds.len() {
        bounds[at] = STEPS[at % PER_DECADE] * power;
        at += 1;
        if at.is_multiple_of(PER_DECADE) {
            power *= 10;
        }
    }
    bounds
};

/// Durations, counted in fixed buckets.
///
/// The bounds of the buckets are 1, 1.5, 2.2, 3.3, 4.7 and 6.8 ms, ten times that, and so on, up to
/// eleven and a half days. So a [`percentile`](Self::percentile) is at most 23 % off, and
/// histograms of several minutes and processes can be [merged](Self::merge) without losing any
/// precision.
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::store::Histogram;
///
/// let mut took = Histogram::new();
/// for millis in [100, 110, 120, 130, 5_000] {
///     took.add(Duration::from_millis(millis));
/// }
/// assert_eq!(took.count(), 5);
/// assert_eq!(took.percentile(50), Some(Duration::from_millis(120)));
/// assert_eq!(took.percentile(99), Some(Duration::from_millis(5_700)));
/// assert_eq!(Histogram::new().percentile(50), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; Self::BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// The number of buckets. The last one has no upper bound.
    pub const BUCKETS: usize = BOUNDS.len() + 1;

    /// Creates a histogram without any durations.
    pub const fn new() -> Self {
        Self { counts: [0; Self::BUCKETS] }
    }

    /// Returns the bucket that a duration counts in, from 0 on.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_workflow::store::Histogram;
    ///
    /// let bucket = Histogram::bucket_of(Duration::from_millis(2));
    /// assert_eq!(Histogram::upper_bound(bucket), Some(Duration::from_micros(2_200)));
    /// ```
    pub fn bucket_of(took: Duration) -> usize {
        let took = micros(took);
        BOUNDS.partition_point(|bound| *bound < took)
    }

    /// Returns the longest duration that counts in a bucket; `None` for the last one, which has no
    /// bound, and for one that does not exist.
    pub fn upper_bound(bucket: usize) -> Option<Duration> {
        BOUNDS.get(bucket).map(|bound| Duration::from_micros(bound.unsigned_abs()))
    }

    /// Counts a duration.
    pub fn add(&mut self, took: Duration) {
        self.add_to(Self::bucket_of(took), 1);
    }

    /// Adds to the count of a bucket what your own store has kept of it. A bucket that does not
    /// exist is ignored.
    pub fn add_to(&mut self, bucket: usize, count: u64) {
        if let Some(sum) = self.counts.get_mut(bucket) {
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds the durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.buckets() {
            self.add_to(bucket, count);
        }
    }

    /// Returns how many durations it has.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns each bucket that is not empty, with its count, from the shortest durations on.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// Returns the duration that this percentage of all durations does not exceed: 50 is the
    /// median. `None` if there are none.
    ///
    /// Only the bucket is known, so it is up to 23 % more or less than the exact one. What took
    /// less than 1 ms is reported as 1 ms, and what took more than 1,000,000 s (eleven and a half
    /// days) as that.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_workflow::store::Histogram;
    ///
    /// let mut took = Histogram::new();
    /// took.add(Duration::from_secs(42));
    /// // Between 33 and 47 s.
    /// assert_eq!(took.percentile(95), Some(Duration::from_secs(39)));
    /// ```
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let percent = u128::from(percent.min(100));
        let rank = (u128::from(count) * percent).div_ceil(100).max(1);
        let mut below = 0;
        let (bucket, _) = self.buckets().find(|(_, count)| {
            below += u128::from(*count);
            below >= rank
        })?;
        Some(Duration::from_micros(middle(bucket).unsigned_abs()))
    }
}

/// Returns the reported value of a bucket, in microseconds.
fn middle(bucket: usize) -> i64 {
    let last = BOUNDS.len() - 1;
    match bucket.checked_sub(1) {
        None => BOUNDS[0],
        Some(below) if below >= last => BOUNDS[last],
        // A bound is a multiple of the first one of its power of ten.
        Some(below) => {
            let power = BOUNDS[below / PER_DECADE * PER_DECADE] / STEPS[0];
            MIDDLES[below % PER_DECADE] * power
        }
    }
}

/// The durations of the attempts at one step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepDurations {
    /// The step; `None` for attempts as a whole.
    pub step: Option<String>,
    /// Their durations.
    pub took: Histogram,
}

/// The durations of attempts, by step: [`Store::durations`](crate::Store::durations).
///
/// An attempt counts by its rows in the history, even if it failed. An attempt that was lost does
/// not count, because its running time is unknown. A step that succeeded has no row of its own,
/// and counts by its [`StepTime`](crate::store::StepTime). Work without steps, and an attempt that
/// succeeded as a whole, count without a step.
///
/// It has at most [`MAX_STEPS`] names; further ones count as [`OTHER_STEPS`], and names beyond 200
/// bytes are cut.
///
/// Your own store keeps one for each minute, and adds each [`Settlement`] to it:
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::Timestamp;
/// use retry_workflow::store::{
///     AttemptOutcome, AttemptRecord, Durations, LeaseKey, Settled, Settlement,
/// };
///
/// let mut row = AttemptRecord::new("worker-1", Timestamp::now(), AttemptOutcome::Succeeded);
/// row.duration = Duration::from_millis(250);
/// let key = LeaseKey { item: 7, token: 1 };
///
/// let mut minute = Durations::new();
/// minute.settled(&Settlement::new(key, Settled::Succeeded(None), vec![row]));
/// let [whole] = minute.steps() else { panic!("one step") };
/// assert_eq!((&whole.step, whole.took.count()), (&None, 1));
/// assert_eq!(whole.took.percentile(50), Some(Duration::from_millis(270)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// In the order of their names.
    steps: Vec<StepDurations>,
}

impl Durations {
    /// Creates a collection without any durations.
    pub const fn new() -> Self {
        Self { steps: Vec::new() }
    }

    /// Returns the steps in the order of their names; attempts as a whole come first.
    pub fn steps(&self) -> &[StepDurations] {
        &self.steps
    }

    /// Returns `true` if there are no durations.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Counts an attempt at a step, or, without one, an attempt as a whole.
    pub fn add(&mut self, step: Option<&str>, took: Duration) {
        self.step(step).add(took);
    }

    /// Adds to the count of a step's bucket what your own store has kept of it:
    /// [`Histogram::add_to`].
    pub fn add_to(&mut self, step: Option<&str>, bucket: usize, count: u64) {
        if bucket < Histogram::BUCKETS && count > 0 {
            self.step(step).add_to(bucket, count);
        }
    }

    /// Counts what a settlement reports: see [`Settlement::took`].
    pub fn settled(&mut self, settlement: &Settlement) {
        for (step, took) in settlement.took() {
            self.add(step, took);
        }
    }

    /// Counts a row of history. A lost attempt does not count.
    pub fn tried(&mut self, row: &AttemptRecord) {
        if let Some((step, took)) = row.took() {
            self.add(step, took);
        }
    }

    /// Adds the durations of another collection.
    pub fn merge(&mut self, other: &Self) {
        for StepDurations { step, took } in &other.steps {
            self.step(step.as_deref()).merge(took);
        }
    }

    /// Returns the name under which the durations of a step are kept: not longer than 200 bytes,
    /// so that it can be part of a key. An empty name counts as none.
    ///
    /// ```
    /// use retry_workflow::store::Durations;
    ///
    /// assert_eq!(Durations::kept_name(Some("download")), Some("download"));
    /// assert_eq!(Durations::kept_name(Some("")), None);
    /// ```
    pub fn kept_name(step: Option<&str>) -> Option<&str> {
        let step = step.filter(|step| !step.is_empty())?;
        if step.len() <= LONGEST_STEP {
            return Some(step);
        }
        let end = (0..=LONGEST_STEP).rev().find(|&at| step.is_char_boundary(at));
        step.get(..end.unwrap_or(0))
    }

    fn step(&mut self, step: Option<&str>) -> &mut Histogram {
        let step = Self::kept_name(step);
        let find = |steps: &[StepDurations], step: Option<&str>| {
            steps.binary_search_by(|known| known.step.as_deref().cmp(&step))
        };
        let mut place = find(&self.steps, step).map_err(|at| (at, step));
        if let (Err(_), Some(name)) = (&place, step)
            && name != OTHER_STEPS
            && self.names() >= MAX_STEPS
        {
            let other = Some(OTHER_STEPS);
            place = find(&self.steps, other).map_err(|at| (at, other));
        }
        let at = place.unwrap_or_else(|(at, step)| {
            let step = step.map(ToOwned::to_owned);
            self.steps.insert(at, StepDurations { step, took: Histogram::new() });
            at
        });
        &mut self.steps[at].took
    }

    fn names(&self) -> usize {
        let names = self.steps.iter().filter_map(|known| known.step.as_deref());
        names.filter(|name| *name != OTHER_STEPS).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Durations of all lengths, each some percent longer than the one before.
    fn lengths() -> impl Iterator<Item = Duration> {
        let next = |micros: &u64| micros.checked_mul(101)?.checked_div(100)?.checked_add(1);
        std::iter::successors(Some(1_u64), next)
            .take_while(|micros| *micros < 2_000_000_000_000)
            .map(Duration::from_micros)
    }

    #[test]
    fn bounds_grow_by_half_at_most_and_are_round() {
        for pair in BOUNDS.windows(2) {
            assert!(pair[0] < pair[1] && pair[1] * 2 <= pair[0] * 3, "{pair:?}");
        }
        let bound = |bucket| Histogram::upper_bound(bucket).map(|bound| bound.as_micros());
        assert_eq!([0, 1, 6, 54].map(bound), [1_000, 1_500, 10_000, 1_000_000_000_000].map(Some));
        assert_eq!((bound(55), bound(usize::MAX), Histogram::BUCKETS), (None, None, 56));
    }

    #[test]
    fn a_duration_is_in_the_bucket_that_contains_it() {
        for took in lengths() {
            let bucket = Histogram::bucket_of(took);
            assert!(Histogram::upper_bound(bucket).is_none_or(|bound| took <= bound), "{took:?}");
            let below = bucket.checked_sub(1).and_then(Histogram::upper_bound);
            assert!(below.is_none_or(|below| below < took), "{took:?}");
        }
        assert_eq!(Histogram::bucket_of(Duration::ZERO), 0);
        assert_eq!(Histogram::bucket_of(Duration::MAX), 55);
    }

    /// As the documentation says.
    #[test]
    fn a_percentile_is_less_than_a_quarter_off() {
        let known = Duration::from_millis(1)..Duration::from_secs(1_000_000);
        for took in lengths().filter(|took| known.contains(took)) {
            let mut one = Histogram::new();
            one.add(took);
            let shown = one.percentile(50).expect("there is one").as_secs_f64();
            let off = shown / took.as_secs_f64() - 1.0;
            assert!(off.abs() <= 0.23, "{took:?} is reported as {shown}");
        }
    }

    #[test]
    fn percentiles_match_the_sorted_durations() {
        let mut took = Histogram::new();
        for _ in 0..94 {
            took.add(Duration::from_millis(20));
        }
        for _ in 0..5 {
            took.add(Duration::from_secs(2));
        }
        took.add(Duration::from_secs(60));
        let millis = |percent| took.percentile(percent).map(|took| took.as_millis());
        assert_eq!([0, 50, 94, 95, 99, 100, 255].map(millis), {
            [18, 18, 18, 1_800, 1_800, 57_000, 57_000].map(Some)
        });
    }

    #[test]
    fn extreme_numbers_do_not_panic() {
        let mut took = Histogram::new();
        took.add_to(0, u64::MAX);
        took.add_to(55, u64::MAX);
        took.add_to(56, 1);
        assert_eq!(took.count(), u64::MAX);
        assert_eq!(took.percentile(100), Some(Duration::from_millis(1)));
        took.merge(&took.clone());
        let mut last = Histogram::new();
        last.add(Duration::MAX);
        assert_eq!(last.percentile(1), Some(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn steps_beyond_the_limit_count_as_one() {
        let mut durations = Durations::new();
        for number in 0..MAX_STEPS + 7 {
            durations.add(Some(&format!("step {number:03}")), Duration::from_secs(1));
        }
        durations.add(None, Duration::from_secs(1));
        durations.add(Some("step 000"), Duration::from_secs(1));
        let count = |name: Option<&str>| {
            let found = durations.steps().iter().find(|known| known.step.as_deref() == name);
            found.map(|known| known.took.count())
        };
        assert_eq!(durations.steps().len(), MAX_STEPS + 2);
        assert_eq!((count(None), count(Some("step 000"))), (Some(1), Some(2)));
        assert_eq!((count(Some(OTHER_STEPS)), count(Some("step 100"))), (Some(7), None));
        assert!(durations.steps().is_sorted_by_key(|known| &known.step));
    }

    #[test]
    fn long_names_are_cut_between_characters_and_empty_ones_are_none() {
        let mut durations = Durations::new();
        durations.add(Some(&"é".repeat(101)), Duration::ZERO);
        durations.add(Some(&format!("x{}", "é".repeat(100))), Duration::ZERO);
        durations.add(Some(""), Duration::ZERO);
        let names: Vec<_> = durations.steps().iter().map(|known| known.step.as_deref()).collect();
        let expected = [format!("x{}", "é".repeat(99)), "é".repeat(100)];
        assert_eq!(names, [None, Some(&*expected[0]), Some(&*expected[1])]);
    }
}
