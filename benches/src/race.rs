//! Timing on a busy machine: batches of a millisecond, the contenders in alternation, and the
//! median of all batches.

use std::fmt;
use std::time::{Duration, Instant};

use crate::contest::Figures;

const BATCH: Duration = Duration::from_millis(1);

/// The number of rounds that fit into the time, within these limits.
const FEWEST_ROUNDS: usize = 31;
const MOST_ROUNDS: usize = 301;
const TIME_FOR_ROUNDS: Duration = Duration::from_secs(15);

/// A contender that can make a batch of calls.
pub struct Runner {
    name: &'static str,
    time: Box<dyn FnMut(u64) -> Duration>,
}

impl Runner {
    /// `batch` makes the given number of calls.
    pub fn new(name: &'static str, mut batch: impl FnMut(u64) + 'static) -> Self {
        Self::timing_itself(name, move |calls| {
            let start = Instant::now();
            batch(calls);
            start.elapsed()
        })
    }

    /// `batch` makes the given number of calls, and returns how long they took.
    pub fn timing_itself(name: &'static str, batch: impl FnMut(u64) -> Duration + 'static) -> Self {
        Self { name, time: Box::new(batch) }
    }

    /// The name in the table.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Makes a batch of calls.
    pub fn run(&mut self, calls: u64) -> Duration {
        (self.time)(calls)
    }

    /// The number of calls that take about as long as a batch should, without interruptions.
    fn calls_in_a_batch(&mut self) -> u64 {
        let mut calls = 1;
        while (0..3).any(|_| self.run(calls) < BATCH) {
            calls *= 2;
        }
        calls
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The nanoseconds per call of each runner.
pub fn race(mut runners: Vec<Runner>) -> Figures {
    let batches: Vec<u64> = runners.iter_mut().map(Runner::calls_in_a_batch).collect();
    let mut times = vec![Vec::with_capacity(MOST_ROUNDS); runners.len()];
    let start = Instant::now();
    for round in 0..MOST_ROUNDS {
        if round >= FEWEST_ROUNDS && start.elapsed() > TIME_FOR_ROUNDS {
            break;
        }
        for ((runner, &calls), times) in runners.iter_mut().zip(&batches).zip(&mut times) {
            times.push(nanoseconds(runner.run(calls)) / as_float(calls));
        }
    }
    let names = runners.iter().map(|runner| runner.name().to_owned());
    names.zip(times.into_iter().map(median)).collect()
}

/// The median.
///
/// # Panics
///
/// Panics if there are no times.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a batch is far below 2^52 calls")]
const fn as_float(calls: u64) -> f64 {
    calls as f64
}
