//! [`Capacity`]: the number of items that may run at the same time. It is below `max_parallel`
//! while the machine lacks the resources, or a service rejects some of the items.

use std::time::Duration;

use tokio::time::Instant;

use crate::job::worker_record::Throttle;

/// The wait of an item that could not begin. If none is running, nothing else starts meanwhile.
pub(in crate::engine) const PAUSE: Duration = Duration::from_secs(1);
/// The job stops once nothing has begun for this long, and nothing is running.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval at which the capacity grows again, by an eighth.
const GROW_EVERY: Duration = Duration::from_secs(5);

/// The number of items that run at the same time.
pub(in crate::engine) struct Capacity {
    max: usize,
    /// The limit of the machine.
    limit: usize,
    /// The limit of the service.
    accepted: usize,
    /// The number of items that have ended since the service last rejected one, or that limit rose.
    ended: usize,
    /// The time of the next growth, if the limit is below the maximum.
    grow_at: Instant,
    /// Nothing starts before then.
    paused_until: Option<Instant>,
    /// The time of the first item that could not begin, if none has begun since.
    starved_since: Option<Instant>,
}

/// The consequence of an item that could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Shortage {
    /// Fewer items run from now on.
    Limited,
    /// Nothing has begun for a long time.
    Starved,
}

impl Capacity {
    pub(in crate::engine) fn new(max: usize) -> Self {
        let grow_at = Instant::now();
        Self {
            max,
            limit: max,
            accepted: max,
            ended: 0,
            grow_at,
            paused_until: None,
            starved_since: None,
        }
    }

    /// Returns the number of items that may run at the same time.
    pub(in crate::engine) fn limit(&self) -> usize {
        self.limit.min(self.accepted)
    }

    /// Returns the limit and the maximum, if the limit is lower.
    pub(in crate::engine) fn throttle(&self) -> Option<Throttle> {
        let throttle = Throttle { limit: self.limit(), max_parallel: self.max };
        (throttle.limit < self.max).then_some(throttle)
    }

    /// Returns the time at which something may start again, if nothing may now.
    pub(in crate::engine) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Raises the limit, and ends a pause, if it is time.
    pub(in crate::engine) fn update(&mut self, now: Instant) {
        self.paused_until = self.paused_until.filter(|until| *until > now);
        if self.limit < self.max && self.grow_at <= now {
            self.limit = self.limit.saturating_add((self.limit / 8).max(1)).min(self.max);
            self.grow_at = now + GROW_EVERY;
        }
    }

    /// Records the end of an item that had begun, while `running` others were running. If the
    /// service has rejected it, `running` is the new limit. After each two full sets of items
    /// without a rejection, the limit rises by one.
    pub(in crate::engine) fn ended(&mut self, is_rejected: bool, running: usize) {
        self.starved_since = None;
        if is_rejected {
            self.accepted = self.accepted.min(running).max(1);
            self.ended = 0;
        } else if self.accepted < self.max {
            self.ended += 1;
            if self.ended >= self.accepted.saturating_mul(2) {
                self.accepted += 1;
                self.ended = 0;
            }
        }
    }

    /// Notes that an item could not begin while this many were running.
    pub(in crate::engine) fn not_begun(&mut self, running: usize, now: Instant) -> Shortage {
        // Some air, because the process itself needs resources too.
        self.limit = self.limit.min(running - running / 8).max(1);
        self.grow_at = now + GROW_EVERY;
        let since = *self.starved_since.get_or_insert(now);
        if running > 0 {
            return Shortage::Limited;
        }
        self.paused_until = Some(now + PAUSE);
        if now - since >= PATIENCE { Shortage::Starved } else { Shortage::Limited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_limit_follows_the_running_items_and_recovers() {
        let mut capacity = Capacity::new(40);
        assert_eq!(capacity.throttle(), None);
        assert_eq!(capacity.not_begun(16, Instant::now()), Shortage::Limited);
        assert_eq!((capacity.limit(), capacity.paused_until()), (14, None));
        capacity.update(Instant::now());
        assert_eq!(capacity.limit(), 14, "not at once");
        let mut steps = 0;
        while capacity.throttle().is_some() {
            tokio::time::advance(GROW_EVERY).await;
            capacity.update(Instant::now());
            steps += 1;
        }
        assert_eq!((capacity.limit(), steps), (40, 11));
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_minute_in_which_nothing_begins_is_starvation() {
        let mut capacity = Capacity::new(40);
        let mut fails = |running| capacity.not_begun(running, Instant::now());
        assert_eq!(fails(0), Shortage::Limited);
        tokio::time::advance(PATIENCE).await;
        assert_eq!(fails(1), Shortage::Limited, "one is running");
        assert_eq!(fails(0), Shortage::Starved);
        capacity.ended(false, 0);
        assert_eq!(capacity.not_begun(0, Instant::now()), Shortage::Limited);
        assert_eq!(capacity.limit(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejection_leaves_the_running_items_and_two_sets_without_one_add_one() {
        let mut capacity = Capacity::new(20);
        for running in (4..20).rev() {
            capacity.ended(true, running);
        }
        assert_eq!(capacity.throttle(), Some(Throttle { limit: 4, max_parallel: 20 }));
        (0..7).for_each(|_| capacity.ended(false, 3));
        assert_eq!(capacity.limit(), 4);
        capacity.ended(false, 3);
        assert_eq!(capacity.limit(), 5);
        capacity.ended(true, 0);
        assert_eq!(capacity.limit(), 1, "one always runs");
        // The machine's limit applies as well.
        capacity.not_begun(2, Instant::now());
        (0..6).for_each(|_| capacity.ended(false, 1));
        assert_eq!(capacity.limit(), 2);
    }
}
