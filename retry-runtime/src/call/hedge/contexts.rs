//! [`Contexts`]: what the bodies of hedged attempts can find out, each about itself.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::call::attempt::Attempt;

/// The contexts of an attempt and of its hedges. A body takes its own when it begins.
#[derive(Debug)]
pub struct Contexts {
    first: Context,
    /// The one that begins now: it takes its context before any other one is begun.
    beginning: AtomicU32,
    /// The attempt whose outcome is the outcome of the group.
    decisive: AtomicU32,
}

/// One in a list that grows while others refer to it.
#[derive(Debug)]
struct Context {
    attempt: Attempt,
    next: OnceLock<Box<Self>>,
}

impl Contexts {
    /// Those of an attempt without hedges.
    pub fn of(attempt: Attempt) -> Self {
        let first = Context { attempt, next: OnceLock::new() };
        Self { first, beginning: AtomicU32::new(0), decisive: AtomicU32::new(0) }
    }

    /// The context of the body that begins now.
    pub fn begin(&self) -> &Attempt {
        let number = self.beginning.load(Ordering::Relaxed);
        let mut context = &self.first;
        for hedge in 1..=number {
            context = context.next.get_or_init(|| {
                let attempt = self.first.attempt.hedged(hedge);
                Box::new(Context { attempt, next: OnceLock::new() })
            });
        }
        &context.attempt
    }

    /// Returns the context of the attempt whose outcome is the outcome of the group.
    pub fn decisive(&self) -> &Attempt {
        self.get(self.decisive.load(Ordering::Relaxed)).unwrap_or(&self.first.attempt)
    }

    /// Hedge `number` begins.
    pub(crate) fn begins(&self, number: u32) {
        self.beginning.store(number, Ordering::Relaxed);
    }

    /// Records that attempt `number` has ended, and that its outcome is the outcome of the group.
    pub(crate) fn ended(&self, number: u32) {
        self.decisive.store(number, Ordering::Relaxed);
    }

    /// The context of an attempt that has begun.
    pub(crate) fn get(&self, number: u32) -> Option<&Attempt> {
        let mut context = &self.first;
        for _ in 0..number {
            context = context.next.get()?;
        }
        Some(&context.attempt)
    }
}
