//! The probes of a half-open breaker: how many are running, and how many have succeeded.

use core::time::Duration;
use std::collections::VecDeque;

use crate::base::clock::Instant;

struct Probe {
    id: u64,
    admitted_at: Instant,
}

pub(super) struct Probes {
    /// Probes that have not reported yet, ordered by id and hence by time.
    pending: VecDeque<Probe>,
    /// The number of them, counted from the front, that have lost their slots to others.
    overdue: usize,
    next_id: u64,
    successes: u32,
    /// The time at which the breaker became half-open: the time of its first probe.
    began_at: Option<Instant>,
    /// The time of the last call, whether it was admitted or not.
    asked_at: Option<Instant>,
}

impl Probes {
    pub(super) const fn new() -> Self {
        Self {
            pending: VecDeque::new(),
            overdue: 0,
            next_id: 0,
            successes: 0,
            began_at: None,
            asked_at: None,
        }
    }

    /// Discards all probes. Ids are not reused, so permits from before remain unknown.
    pub(super) fn restart(&mut self) {
        self.pending.clear();
        self.overdue = 0;
        self.successes = 0;
        (self.began_at, self.asked_at) = (None, None);
    }

    /// Returns whether no call has asked to be a probe for at least this time.
    pub(super) fn are_unasked_for(&self, now: Instant, span: Duration) -> bool {
        self.asked_at.is_none_or(|at| now.saturating_duration_since(at) >= span)
    }

    /// Admits a probe and returns its id, unless `limit` are running.
    ///
    /// A probe that has not reported for the time `overdue` no longer holds its slot.
    pub(super) fn admit(&mut self, now: Instant, limit: u32, overdue: Duration) -> Option<u64> {
        self.asked_at = Some(now);
        self.expire(now, overdue);
        if self.count() >= limit {
            return None;
        }
        self.began_at.get_or_insert(now);
        let id = self.next_id;
        self.next_id += 1;
        self.pending.push_back(Probe { id, admitted_at: now });
        Some(id)
    }

    /// Frees the slots of probes that have not reported for the time `overdue`.
    pub(super) fn expire(&mut self, now: Instant, overdue: Duration) {
        while self.eldest().is_some_and(|at| now.saturating_duration_since(at) >= overdue) {
            self.overdue += 1;
        }
    }

    /// Returns when the oldest probe that holds a slot was admitted.
    fn eldest(&self) -> Option<Instant> {
        self.pending.get(self.overdue).map(|probe| probe.admitted_at)
    }

    /// Returns how long until [`admit`](Self::admit) succeeds, if no probe reports before that.
    pub(super) fn until_free(&self, now: Instant, limit: u32, overdue: Duration) -> Duration {
        match self.eldest() {
            Some(at) if self.count() >= limit => {
                overdue.saturating_sub(now.saturating_duration_since(at))
            }
            _ => Duration::ZERO,
        }
    }

    /// Removes a probe that reports or was dropped, and frees its slot if it still held one.
    /// Returns when it was admitted; `None` if that was in an earlier half-open period.
    pub(super) fn release(&mut self, id: u64) -> Option<Instant> {
        let at = self.pending.binary_search_by_key(&id, |probe| probe.id).ok()?;
        if at < self.overdue {
            self.overdue -= 1;
        }
        self.pending.remove(at).map(|probe| probe.admitted_at)
    }

    pub(super) fn succeed(&mut self) -> u32 {
        self.successes = self.successes.saturating_add(1);
        self.successes
    }

    /// The number of probes that hold a slot.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.pending.len() - self.overdue).unwrap_or(u32::MAX)
    }

    /// Returns whether one has succeeded, and the first was admitted at least this long ago.
    pub(super) fn have_succeeded_for(&self, now: Instant, span: Duration) -> bool {
        let began = self.began_at.filter(|_| self.successes > 0);
        began.is_some_and(|at| now.saturating_duration_since(at) >= span)
    }

    pub(super) const fn successes(&self) -> u32 {
        self.successes
    }
}
