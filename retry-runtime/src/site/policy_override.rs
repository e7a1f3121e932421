//! The changes to the compiled policy, if any.

use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use retry_rules::file::Draft;
use retry_rules::{Field, Fields, Invalid, Policy, Rules};

/// Set if any policy was ever changed. A thread's first access to an `ArcSwap` allocates, so a
/// program that changes nothing makes none.
static EVER: AtomicBool = AtomicBool::new(false);

/// Swapped as a whole and read without a lock, on the failure path only.
pub(crate) struct PolicyOverride(ArcSwapOption<Draft>);

impl PolicyOverride {
    pub(crate) const fn new() -> Self {
        Self(ArcSwapOption::const_empty())
    }

    /// The changes in force.
    pub(crate) fn draft(&self) -> Option<Draft> {
        if EVER.load(Ordering::Acquire) { self.0.load().as_deref().copied() } else { None }
    }

    /// Returns whether that was a change. Called by one thread at a time.
    pub(crate) fn set(&self, draft: Option<Draft>) -> bool {
        if self.draft() == draft {
            return false;
        }
        self.0.store(draft.map(Into::into));
        EVER.store(true, Ordering::Release);
        true
    }
}

/// Returns the nearest valid policy to `policy` with the changes of `draft`, and the rules that the
/// two break together.
///
/// A function whose `policy` breaks a rule is exempt from it: it has a `cancel`, a `retry_after` or a
/// `wait_by`, which are not visible from here.
pub(crate) fn over(policy: &Policy, draft: &Draft) -> (Policy, Option<Invalid>) {
    let is_exempt = !Rules::broken_by_policy(policy, Fields::NONE).is_empty();
    let written = if is_exempt {
        Fields::from_slice(&[Field::Cancel, Field::RetryAfter])
    } else {
        Fields::NONE
    };
    draft.written_over(*policy).policy().nearest_valid_written(written)
}
