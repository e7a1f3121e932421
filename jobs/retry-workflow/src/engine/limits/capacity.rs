//! [`Capacity`]: the number of items that run at the same time on a machine that lacks the resources
//! to run all of `max_parallel`.

use std::time::Duration;

use tokio::time::Instant;

/// The wait of an item that could not begin. If none is running, nothing else starts meanwhile.
pub(in crate::engine) const PAUSE: Duration = Duration::from_secs(1);
/// The job stops once nothing has begun for this long, and nothing is running.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval at which the capacity grows again, by an eighth.
const GROW_EVERY: Duration = Duration::from_secs(5);

/// The number of items that run at the same time.
pub(in crate::engine) struct Capacity {
    max: usize,
    limit: usize,
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
        Self { max, limit: max, grow_at, paused_until: None, starved_since: None }
    }

    /// Returns the number of items that may run at the same time.
    pub(in crate::engine) fn limit(&self) -> usize {
        self.limit
    }

    /// Returns whether it is below the maximum.
    pub(in crate::engine) fn is_limited(&self) -> bool {
        self.limit < self.max
    }

    /// Returns the time at which something may start again, if nothing may now.
    pub(in crate::engine) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Raises the limit, and ends a pause, if it is time.
    pub(in crate::engine) fn update(&mut self, now: Instant) {
        self.paused_until = self.paused_until.filter(|until| *until > now);
        if self.is_limited() && self.grow_at <= now {
            self.limit = self.limit.saturating_add((self.limit / 8).max(1)).min(self.max);
            self.grow_at = now + GROW_EVERY;
        }
    }

    /// Notes that an item has ended that had begun.
    pub(in crate::engine) fn begun(&mut self) {
        self.starved_since = None;
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
        assert!(!capacity.is_limited());
        assert_eq!(capacity.not_begun(16, Instant::now()), Shortage::Limited);
        assert_eq!((capacity.limit(), capacity.paused_until()), (14, None));
        capacity.update(Instant::now());
        assert_eq!(capacity.limit(), 14, "not at once");
        let mut steps = 0;
        while capacity.is_limited() {
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
        capacity.begun();
        assert_eq!(capacity.not_begun(0, Instant::now()), Shortage::Limited);
        assert_eq!(capacity.limit(), 1);
    }
}
