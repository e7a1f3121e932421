//! The probes of a half-open breaker: how many are under way, and how many
//! succeeded.

use core::time::Duration;
use std::collections::VecDeque;

use crate::base::clock::Instant;

struct Probe {
    id: u64,
    admitted_at: Instant,
}

pub(super) struct Probes {
    /// Those nothing was heard of yet, in the order of their ids, and so of their times.
    unheard: VecDeque<Probe>,
    /// How many of them, from the front on, have lost their slots to others.
    overdue: usize,
    next_id: u64,
    successes: u32,
}

impl Probes {
    pub(super) const fn new() -> Self {
        Self { unheard: VecDeque::new(), overdue: 0, next_id: 0, successes: 0 }
    }

    /// Forgets all probes; ids go on, so that old permits stay strangers.
    pub(super) fn restart(&mut self) {
        self.unheard.clear();
        self.overdue = 0;
        self.successes = 0;
    }

    /// The id of a new probe, unless `limit` are under way.
    ///
    /// A probe that was silent for `overdue` does not hold its slot any longer.
    pub(super) fn admit(&mut self, now: Instant, limit: u32, overdue: Duration) -> Option<u64> {
        self.pass_over(now, overdue);
        if self.count() >= limit {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.unheard.push_back(Probe { id, admitted_at: now });
        Some(id)
    }

    /// Takes their slots from the probes that were silent for `overdue`.
    pub(super) fn pass_over(&mut self, now: Instant, overdue: Duration) {
        while self.eldest().is_some_and(|at| now.saturating_duration_since(at) >= overdue) {
            self.overdue += 1;
        }
    }

    /// When the eldest of those that hold a slot was admitted.
    fn eldest(&self) -> Option<Instant> {
        self.unheard.get(self.overdue).map(|probe| probe.admitted_at)
    }

    /// How long until [`admit`](Self::admit) has an id to give, if nothing is heard until then.
    pub(super) fn until_free(&self, now: Instant, limit: u32, overdue: Duration) -> Duration {
        match self.eldest() {
            Some(at) if self.count() >= limit => {
                overdue.saturating_sub(now.saturating_duration_since(at))
            }
            _ => Duration::ZERO,
        }
    }

    /// When a probe was admitted that reports or was dropped; `None` if that was in an
    /// earlier half-open time. Its slot is free, if it had not lost it.
    pub(super) fn release(&mut self, id: u64) -> Option<Instant> {
        let at = self.unheard.binary_search_by_key(&id, |probe| probe.id).ok()?;
        if at < self.overdue {
            self.overdue -= 1;
        }
        self.unheard.remove(at).map(|probe| probe.admitted_at)
    }

    pub(super) fn succeed(&mut self) -> u32 {
        self.successes = self.successes.saturating_add(1);
        self.successes
    }

    /// Those that hold a slot.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.unheard.len() - self.overdue).unwrap_or(u32::MAX)
    }

    pub(super) const fn successes(&self) -> u32 {
        self.successes
    }
}
