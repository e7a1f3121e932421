//! [`Samples`]: the counts of jobs while clients watch them. A store keeps no history of its counts,
//! so rates and charts begin with the first look.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use retry_workflow::{Counts, Timestamp};

/// The period that is kept, and that a chart shows.
pub(crate) const SPAN: Duration = Duration::from_secs(10 * 60);
/// The period over which a rate is measured.
const RECENT: Duration = Duration::from_secs(5 * 60);
/// The shortest time between two samples of a job.
const INTERVAL: Duration = Duration::from_secs(2);
/// The number of jobs from which on those that are no longer watched are forgotten.
const MOST_JOBS: usize = 200;

/// The samples of each job, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<HashMap<String, VecDeque<Sample>>>);

/// Counts of a job at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) at: Timestamp,
    pub(crate) succeeded: u64,
    /// Dead letters and skipped items.
    pub(crate) failed: u64,
    /// Attempts that failed.
    pub(crate) failed_attempts: u64,
}

impl Sample {
    fn new(counts: &Counts, at: Timestamp) -> Self {
        let (succeeded, failed) = (counts.succeeded, counts.failed());
        // The last attempt of an item that succeeded is the only one that did not fail.
        let failed_attempts = counts.attempts.saturating_sub(succeeded);
        Self { at, succeeded, failed, failed_attempts }
    }

    /// The changes since an earlier sample.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            at: self.at,
            succeeded: self.succeeded.saturating_sub(earlier.succeeded),
            failed: self.failed.saturating_sub(earlier.failed),
            failed_attempts: self.failed_attempts.saturating_sub(earlier.failed_attempts),
        }
    }
}

impl Samples {
    /// Adds the counts of a job, and returns its samples.
    pub(crate) fn add(&self, job: &str, counts: &Counts, now: Timestamp) -> Vec<Sample> {
        let mut jobs = self.0.lock();
        if jobs.len() >= MOST_JOBS && !jobs.contains_key(job) {
            jobs.retain(|_, samples| samples.back().is_some_and(|last| last.at + SPAN > now));
        }
        let samples = jobs.entry(job.to_owned()).or_default();
        // The last one moves with the time until it is old enough to stay.
        if samples.iter().nth_back(1).is_some_and(|before| now.since(before.at) < INTERVAL) {
            samples.pop_back();
        }
        samples.push_back(Sample::new(counts, now));
        while samples.front().is_some_and(|first| first.at + SPAN < now) {
            samples.pop_front();
        }
        samples.iter().copied().collect()
    }
}

/// The number of items that ended per minute, if there are any.
pub(crate) fn rate(samples: &[Sample]) -> Option<f64> {
    let last = samples.last()?;
    let is_recent = |sample: &&Sample| sample.at + RECENT >= last.at;
    let first = samples.iter().find(is_recent)?;
    let new = last.since(first);
    let ended = new.succeeded.saturating_add(new.failed);
    let minutes = last.at.since(first.at).max(Duration::from_secs(1)).as_secs_f64() / 60.0;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    (ended > 0).then(|| (ended as f64 / minutes * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    /// Counts of a job in which this many items have succeeded, each at the second attempt.
    fn counts(succeeded: u64) -> Counts {
        let mut counts = Counts::default();
        (counts.succeeded, counts.attempts) = (succeeded, 2 * succeeded);
        counts
    }

    #[test]
    fn a_rate_follows_from_the_counts_of_the_last_minutes() {
        let samples = Samples::default();
        assert_eq!(rate(&samples.add("a", &counts(70), at(0))), None, "one look");
        assert_eq!(rate(&samples.add("a", &counts(70), at(30))), None, "nothing has ended");
        assert_eq!(rate(&samples.add("a", &counts(100), at(60))), Some(30.0));
        assert_eq!(rate(&samples.add("b", &counts(100), at(60))), None, "another job");
        let later = samples.add("a", &counts(160), at(360));
        assert_eq!(rate(&later), Some(12.0), "of five minutes");
        assert_eq!(later[3].since(&later[2]).failed_attempts, 60);
        // A re-drive takes dead letters back.
        assert_eq!(rate(&samples.add("a", &counts(1), at(400))), None);
    }

    #[test]
    fn samples_are_bounded() {
        let samples = Samples::default();
        let mut last = Vec::new();
        for quarter in 0..8_000 {
            last = samples.add("a", &counts(1), Timestamp::from_micros(quarter * 250_000));
        }
        assert!((300..=350).contains(&last.len()), "{}", last.len());
        for job in 0..300 {
            samples.add(&job.to_string(), &counts(1), at(2_000 + 60 * job));
        }
        assert!(samples.0.lock().len() <= MOST_JOBS);
    }
}
