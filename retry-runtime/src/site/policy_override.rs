//! The policy that has taken the place of the compiled one, if any.

use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use retry_rules::Policy;

/// Whether anything has ever been changed. A thread's first look into a slot
/// allocates: a program that changes nothing does not look.
static EVER: AtomicBool = AtomicBool::new(false);

/// Swapped as a whole and read without a lock, on the failure path only.
pub(crate) struct PolicyOverride(ArcSwapOption<Policy>);

impl PolicyOverride {
    pub(crate) const fn new() -> Self {
        Self(ArcSwapOption::const_empty())
    }

    pub(crate) fn get(&self) -> Option<Policy> {
        if EVER.load(Ordering::Acquire) { self.0.load().as_deref().copied() } else { None }
    }

    /// Whether that was a change. Called by one thread at a time.
    pub(crate) fn set(&self, policy: Option<Policy>) -> bool {
        let before = self.get();
        if before == policy {
            return false;
        }
        self.0.store(policy.map(Into::into));
        EVER.store(true, Ordering::Release);
        true
    }
}
