//! [`Walk`]: the sequence of waits of a policy if every attempt fails.

use std::time::Duration;

use retry_runtime::{Attempts, Jitter, Policy};

/// The first waits of a policy.
#[derive(Clone, Debug)]
pub struct Walk {
    pub waits: Vec<Wait>,
    pub end: WalkEnd,
    /// Set if waits have jitter.
    pub jitter: bool,
    /// Set if the curve matters; decorrelated jitter replaces it.
    pub curve: bool,
    pub bound: Option<TotalLimit>,
}

/// The bound of the sum of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalLimit {
    pub word: &'static str,
    pub limit: Duration,
}

/// One wait, and the total up to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The attempt that follows the wait.
    pub attempt: u32,
    /// The wait of the curve, without jitter.
    pub by_curve: Duration,
    /// The range with jitter.
    pub shortest: Duration,
    pub longest: Duration,
    /// The total without jitter.
    pub sum: Duration,
    /// The range of the total with jitter, limited by the bound.
    pub least: Duration,
    pub most: Duration,
    /// Set if this wait happens only if the previous ones were short.
    pub perhaps: bool,
}

/// The reason why the waits end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// All attempts have been made.
    Attempts,
    /// The next wait, of at least this duration, would exceed the bound.
    Bound(Duration),
    /// There are more waits than were calculated; how many, if the policy limits them.
    More(Option<u32>),
}

impl Walk {
    /// Calculates at most this many waits; the rest are counted.
    pub fn new(policy: &Policy, most: usize) -> Self {
        let mut walk = Self {
            waits: Vec::new(),
            end: WalkEnd::Attempts,
            jitter: policy.get_jitter() != Jitter::None,
            curve: policy.get_jitter() != Jitter::Decorrelated,
            bound: policy.wait_bound().map(|(word, limit)| TotalLimit { word, limit }),
        };
        let mut last: Option<Wait> = None;
        for n in 1.. {
            if !policy.allows_after(n) {
                break;
            }
            if walk.waits.len() == most {
                walk.end = WalkEnd::More(match policy.get_attempts() {
                    Attempts::Limited(attempts) => Some(attempts.saturating_sub(n)),
                    Attempts::Unlimited => None,
                });
                break;
            }
            let (shortest, longest) = policy.wait_interval(n, last.map(|last| last.longest));
            let sum = |of: fn(&Wait) -> Duration, plus: Duration| {
                last.as_ref().map_or(Duration::ZERO, of).saturating_add(plus)
            };
            let wait = policy.wait(n);
            let at_least = sum(|last| last.least, shortest);
            let at_most = sum(|last| last.most, longest);
            let limit = walk.bound.map_or(Duration::MAX, |bound| bound.limit);
            if at_least > limit {
                walk.end = WalkEnd::Bound(shortest);
                break;
            }
            let next = Wait {
                attempt: n.saturating_add(1),
                by_curve: wait,
                shortest,
                longest,
                sum: sum(|last| last.sum, wait),
                least: at_least,
                most: at_most.min(limit),
                perhaps: at_most > limit,
            };
            walk.waits.push(next);
            last = Some(next);
        }
        walk
    }

    /// Returns the longest of these waits.
    pub fn longest(&self) -> Duration {
        self.waits.iter().map(|wait| wait.longest).max().unwrap_or_default()
    }
}
