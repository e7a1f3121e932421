//! The starts of a rate: moments at equal distances, which workers reserve in the store.
//!
//! The store has the time of the next free start. A worker reserves starts by moving that time
//! forward, and starts an item only at a start of its own. So the rate holds whatever the workers
//! do.
//!
//! The time in the store is never further ahead than one interval, or [`AHEAD`] if that is longer:
//! a worker that is killed takes no more than that with it. A start that is further away is not
//! reserved; the worker tries again when it is near.

use std::time::Duration;

use crate::item::clock::Timestamp;

/// Starts are reserved for about this long.
pub(super) const AHEAD: Duration = Duration::from_millis(250);
/// A start that is later than this is lost. Otherwise a worker that was stopped for a moment would
/// make up for it in a burst.
pub(super) const LATE: Duration = Duration::from_millis(50);
/// A start that is reserved no later than this keeps its time, so that the time that the store
/// needs does not slow the job down.
const DRIFT: Duration = Duration::from_millis(25);
/// A start whose reservation has taken longer than [`LATE`] can be used for this long.
const GRACE: Duration = Duration::from_millis(10);

/// The store makes a reservation within this time, or fails.
const LATEST_RESERVATION: Duration = Duration::from_secs(30);

/// The next free start of a schedule, which may be a moment ago. The schedule was kept for starts
/// `was_every` apart, and is now for starts `every` apart.
pub(super) fn free_start(
    next: Timestamp,
    was_every: Duration,
    every: Duration,
    now: Timestamp,
) -> Timestamp {
    let next = if was_every == every { next } else { next - was_every + every };
    // Workers reserve with the time at which they began to wait for the store. So the next start may
    // lie a little further ahead of that time. Much further, it was written by a clock that was wrong.
    let furthest = now + every.max(AHEAD);
    let next = if next > furthest + LATEST_RESERVATION { furthest } else { next };
    if next + DRIFT >= now { next } else { now }
}

/// The time by which a start can be reserved early.
pub(super) fn ahead(every: Duration) -> Duration {
    AHEAD.saturating_sub(every)
}

/// Until when a start can be used that was reserved at `reserved`.
pub(super) fn usable_until(start: Timestamp, reserved: Timestamp) -> Timestamp {
    (start + LATE).max(reserved + GRACE)
}

/// Returns how many starts can be reserved at the same time.
pub(super) fn at_once(every: Duration) -> usize {
    let starts = AHEAD.as_nanos() / every.as_nanos().max(1);
    usize::try_from(starts).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(1_000_000 + millis.cast_signed() * 1_000)
    }

    #[test]
    fn a_start_is_kept_for_a_moment_and_lost_when_late() {
        let second = Duration::from_secs(1);
        assert_eq!(free_start(at(80), second, second, at(100)), at(80));
        assert_eq!(free_start(at(70), second, second, at(100)), at(100));
        assert_eq!(usable_until(at(100), at(0)), at(150));
        assert_eq!(usable_until(at(100), at(300)), at(310), "a slow store has reserved it");
    }

    #[test]
    fn a_schedule_that_is_too_far_ahead_is_put_right() {
        let (minute, hour) = (Duration::from_mins(1), Duration::from_hours(1));
        assert_eq!(free_start(at(0) + hour, minute, minute, at(0)), at(0) + minute);
    }

    #[test]
    fn a_reservation_that_waited_for_the_store_does_not_move_the_schedule_back() {
        let every = Duration::from_millis(10);
        // Other workers have reserved starts meanwhile, up to 250 ms ahead of their own time.
        assert_eq!(free_start(at(1_250), every, every, at(0)), at(1_250));
    }

    #[test]
    fn another_rate_counts_from_the_last_start() {
        let (minute, hour) = (Duration::from_mins(1), Duration::from_hours(1));
        assert_eq!(free_start(at(0) + hour, hour, minute, at(0)), at(0) + minute);
        assert_eq!(free_start(at(0) + minute, minute, hour, at(0)), at(0) + hour);
    }
}
