//! [`Walk`]: the waits of a policy one after another, if every attempt fails.

use std::time::Duration;

use retry_runtime::{Attempts, Jitter, Policy};

/// This many waits are shown; the rest are counted.
const SHOWN: usize = 24;

/// The waits of a policy, as far as they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    pub(crate) waits: Vec<Wait>,
    pub(crate) end: End,
    /// Whether waits are spread.
    pub(crate) jitter: bool,
    /// Whether the curve says anything; decorrelated jitter takes its place.
    pub(crate) curve: bool,
    pub(crate) bound: Option<Bound>,
}

/// What bounds the sum of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) word: &'static str,
    pub(crate) limit: Duration,
}

/// One wait, and what has been waited when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The attempt that it is before.
    pub(crate) attempt: u32,
    /// What the curve says.
    pub(crate) by_curve: Duration,
    /// With jitter.
    pub(crate) shortest: Duration,
    pub(crate) longest: Duration,
    /// By the curve.
    pub(crate) sum: Duration,
    /// With jitter, cut where the bound is.
    pub(crate) least: Duration,
    pub(crate) most: Duration,
    /// Whether it comes to this wait only if those before were short.
    pub(crate) perhaps: bool,
}

/// Why there are no more waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All attempts have been made.
    Attempts,
    /// Another wait of at least this does not fit.
    Bound(Duration),
    /// There are more than are shown; how many, if that is known.
    More(Option<u32>),
}

impl Walk {
    pub(crate) fn new(policy: &Policy) -> Self {
        let mut walk = Self {
            waits: Vec::new(),
            end: End::Attempts,
            jitter: policy.get_jitter() != Jitter::None,
            curve: policy.get_jitter() != Jitter::Decorrelated,
            bound: bound(policy),
        };
        let mut last: Option<Wait> = None;
        for n in 1.. {
            if !policy.allows_after(n) {
                break;
            }
            if walk.waits.len() == SHOWN {
                walk.end = End::More(match policy.get_attempts() {
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
                walk.end = End::Bound(shortest);
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

/// The nearest one of budget, deadline and `max_elapsed`: attempts take no time here.
fn bound(policy: &Policy) -> Option<Bound> {
    let budget = policy.get_budget().map(|limit| Bound { word: "budget", limit });
    let deadline = policy.get_deadline().map(|limit| Bound { word: "deadline", limit });
    let elapsed = policy.get_max_elapsed().map(|limit| Bound { word: "max_elapsed", limit });
    [budget, deadline, elapsed].into_iter().flatten().min_by_key(|bound| bound.limit)
}
