//! [`RaceAttempts`]: the properties of hedged attempts, each for its own body.

use core::iter;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::call::attempt::Attempt;

/// The [`Attempt`]s of an attempt and of its hedges, as their bodies see them. A call without
/// hedges has a single [`Attempt`] in their place, which needs no list and no atomics.
pub struct RaceAttempts {
    first: AttemptLink,
    /// The attempt whose outcome is the outcome of the race.
    decisive: AtomicU32,
}

/// One in a list that grows while others refer to it.
struct AttemptLink {
    attempt: Attempt,
    next: OnceLock<Box<Self>>,
}

impl AttemptLink {
    const fn last(attempt: Attempt) -> Self {
        Self { attempt, next: OnceLock::new() }
    }
}

impl RaceAttempts {
    /// Creates the list of an attempt without hedges.
    pub fn of(attempt: Attempt) -> Self {
        Self { first: AttemptLink::last(attempt), decisive: AtomicU32::new(0) }
    }

    /// The `Attempt` of the body that begins now: the last one in the list, because a body begins
    /// before another hedge is added.
    pub fn begin(&self) -> &Attempt {
        &self.links().last().unwrap_or(&self.first).attempt
    }

    /// Returns the `Attempt` of the attempt whose outcome is the outcome of the race.
    pub fn decisive(&self) -> &Attempt {
        self.get(self.decisive.load(Ordering::Relaxed)).unwrap_or(&self.first.attempt)
    }

    /// Adds hedge `number`, which begins next.
    pub(crate) fn add(&self, number: u32) {
        let hedge = AttemptLink::last(self.first.attempt.hedged(number));
        if let Some(last) = self.links().last() {
            last.next.get_or_init(|| Box::new(hedge));
        }
    }

    /// Records that attempt `number` has ended, and that its outcome is the outcome of the race.
    pub(crate) fn ended(&self, number: u32) {
        self.decisive.store(number, Ordering::Relaxed);
    }

    /// The `Attempt` of hedge `number`, or of the attempt that hedges join.
    pub(crate) fn get(&self, number: u32) -> Option<&Attempt> {
        self.links().map(|link| &link.attempt).find(|attempt| attempt.hedge() == number)
    }

    fn links(&self) -> impl Iterator<Item = &AttemptLink> {
        iter::successors(Some(&self.first), |link| link.next.get().map(|next| &**next))
    }
}
