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
    /// In the order of their ids, and so of their times.
    under_way: VecDeque<Probe>,
    next_id: u64,
    /// Ids below it are of earlier half-open times.
    first_id: u64,
    successes: u32,
}

/// What is known of a probe that reports.
pub(super) enum Reporter {
    /// It is of an earlier half-open time.
    Past,
    /// Its slot was given to another, so it took longer than the open time.
    Overdue,
    /// It held a slot until now.
    UnderWay { admitted_at: Instant },
}

impl Probes {
    pub(super) const fn new() -> Self {
        Self { under_way: VecDeque::new(), next_id: 0, first_id: 0, successes: 0 }
    }

    /// Forgets all probes; ids go on, so that old permits stay strangers.
    pub(super) fn restart(&mut self) {
        self.under_way.clear();
        self.first_id = self.next_id;
        self.successes = 0;
    }

    /// The id of a new probe, unless `limit` are under way.
    ///
    /// A probe that was silent for `overdue` does not hold its slot any longer.
    pub(super) fn admit(&mut self, now: Instant, limit: u32, overdue: Duration) -> Option<u64> {
        while self
            .under_way
            .front()
            .is_some_and(|probe| now.saturating_duration_since(probe.admitted_at) >= overdue)
        {
            self.under_way.pop_front();
        }
        if self.count() >= limit {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.under_way.push_back(Probe { id, admitted_at: now });
        Some(id)
    }

    /// Frees the slot of a probe that reports or was dropped.
    pub(super) fn release(&mut self, id: u64) -> Reporter {
        if id < self.first_id {
            return Reporter::Past;
        }
        let found = self.under_way.binary_search_by_key(&id, |probe| probe.id).ok();
        match found.and_then(|at| self.under_way.remove(at)) {
            Some(Probe { admitted_at, .. }) => Reporter::UnderWay { admitted_at },
            None => Reporter::Overdue,
        }
    }

    pub(super) fn succeed(&mut self) -> u32 {
        self.successes = self.successes.saturating_add(1);
        self.successes
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.under_way.len()).unwrap_or(u32::MAX)
    }

    pub(super) const fn successes(&self) -> u32 {
        self.successes
    }
}
