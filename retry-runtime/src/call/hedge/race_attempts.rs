//! [`RaceAttempts`]: the properties of hedged attempts, each for its own body.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::call::attempt::Attempt;

/// The [`Attempt`]s of an attempt and of its hedges, as their bodies see them. A body takes its own
/// when it begins.
#[derive(Debug)]
pub struct RaceAttempts {
    first: Link,
    /// The one that begins now: it takes its `Attempt` before any other one is begun.
    beginning: AtomicU32,
    /// The attempt whose outcome is the outcome of the race.
    decisive: AtomicU32,
}

/// One in a list that grows while others refer to it.
#[derive(Debug)]
struct Link {
    attempt: Attempt,
    next: OnceLock<Box<Self>>,
}

impl RaceAttempts {
    /// Creates the list of an attempt without hedges.
    pub fn of(attempt: Attempt) -> Self {
        let first = Link { attempt, next: OnceLock::new() };
        Self { first, beginning: AtomicU32::new(0), decisive: AtomicU32::new(0) }
    }

    /// The `Attempt` of the body that begins now.
    pub fn begin(&self) -> &Attempt {
        let number = self.beginning.load(Ordering::Relaxed);
        let mut link = &self.first;
        for hedge in 1..=number {
            link = link.next.get_or_init(|| {
                let attempt = self.first.attempt.hedged(hedge);
                Box::new(Link { attempt, next: OnceLock::new() })
            });
        }
        &link.attempt
    }

    /// Returns the `Attempt` of the attempt whose outcome is the outcome of the race.
    pub fn decisive(&self) -> &Attempt {
        self.get(self.decisive.load(Ordering::Relaxed)).unwrap_or(&self.first.attempt)
    }

    /// Hedge `number` begins.
    pub(crate) fn begins(&self, number: u32) {
        self.beginning.store(number, Ordering::Relaxed);
    }

    /// Records that attempt `number` has ended, and that its outcome is the outcome of the race.
    pub(crate) fn ended(&self, number: u32) {
        self.decisive.store(number, Ordering::Relaxed);
    }

    /// The `Attempt` of an attempt that has begun.
    pub(crate) fn get(&self, number: u32) -> Option<&Attempt> {
        let mut link = &self.first;
        for _ in 0..number {
            link = link.next.get()?;
        }
        Some(&link.attempt)
    }
}
