//! [`Walk`]: the sequence of waits of a policy if every attempt fails.

use std::time::Duration;

use retry_runtime::{Attempts, Jitter, Policy};

/// The number of waits that are shown; the rest are counted.
const SHOWN: usize = 24;

/// The waits of a policy, up to the number that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    pub(crate) waits: Vec<Wait>,
    pub(crate) end: WalkEnd,
    /// Set if waits have jitter.
    pub(crate) jitter: bool,
    /// Set if the curve matters; decorrelated jitter replaces it.
    pub(crate) curve: bool,
    pub(crate) bound: Option<TotalLimit>,
}

/// The bound of the sum of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TotalLimit {
    pub(crate) word: &'static str,
    pub(crate) limit: Duration,
}

/// One wait, and the total up to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The attempt that follows the wait.
    pub(crate) attempt: u32,
    /// The wait of the curve, without jitter.
    pub(crate) by_curve: Duration,
    /// The range with jitter.
    pub(crate) shortest: Duration,
    pub(crate) longest: Duration,
    /// The total without jitter.
    pub(crate) sum: Duration,
    /// The range of the total with jitter, limited by the bound.
    pub(crate) least: Duration,
    pub(crate) most: Duration,
    /// Set if this wait happens only if the previous ones were short.
    pub(crate) perhaps: bool,
}

/// The reason why the waits end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// All attempts have been made.
    Attempts,
    /// The next wait, of at least this duration, would exceed the bound.
    Bound(Duration),
    /// There are more waits than are shown; how many, if the policy limits them.
    More(Option<u32>),
}

impl Walk {
    pub(crate) fn new(policy: &Policy) -> Self {
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
            if walk.waits.len() == SHOWN {
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

    /// The longest wait that is shown.
    pub(crate) fn longest(&self) -> Duration {
        self.waits.iter().map(|wait| wait.longest).max().unwrap_or_default()
    }
}
