//! [`Pace`]: keeps a job to its rate, across all of its workers.
//!
//! The store has the time of the next free start. A worker reserves the starts of a short while at
//! once, by moving that time forward, and starts an item only at a start of its own. So the rate
//! holds whatever the workers do, for a small write now and then.
//!
//! The time in the store is never further ahead than one interval, or [`AHEAD`] if that is longer:
//! a worker that is killed takes no more than that with it. A start that is further away is not
//! reserved; the worker asks again when it is near.

use std::collections::VecDeque;
use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::job::rate::Rate;
use crate::job::rate_record::RateRecord;
use crate::store::{Store, StoreError};

/// Starts are reserved for about this long.
pub(super) const AHEAD: Duration = Duration::from_millis(250);
/// A start that is later than this is lost. Otherwise a worker that was stopped for a moment would
/// make up for it in a burst.
pub(super) const LATE: Duration = Duration::from_millis(50);
/// A start that is reserved no later than this keeps its time, so that the time that the store
/// needs to answer does not slow the job down.
const DRIFT: Duration = Duration::from_millis(25);
/// A start whose reservation has taken longer than [`LATE`] can be used for this long.
const GRACE: Duration = Duration::from_millis(10);

/// The next free start of a schedule, which may be a moment ago. The schedule was kept for starts
/// `was_every` apart, and is now for starts `every` apart.
pub(super) fn free_start(
    next: Timestamp,
    was_every: Duration,
    every: Duration,
    now: Timestamp,
) -> Timestamp {
    let next = if was_every == every { next } else { next - was_every + every };
    // Whatever is written there: a clock that was wrong, or an older version.
    let next = next.min(now + every.max(AHEAD));
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

/// The rate of a job, and the starts that this worker has reserved.
pub(in crate::engine) struct Pace {
    rate: Rate,
    reserved: VecDeque<Starts>,
    /// The end of the last reservation, and how many of its last starts were lost.
    last: Unused,
    /// The time at which to ask again, if no start could be reserved.
    ask_at: Option<Timestamp>,
}

/// Starts at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Starts {
    first: Timestamp,
    used: u32,
    count: u32,
    /// The time at which this worker received them.
    received: Timestamp,
}

/// The answer to a [`Reservation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Reserved {
    Starts(Starts),
    /// The next free start is too far away to be reserved: ask again then.
    AskAt(Timestamp),
}

/// The starts before this time that were reserved and not used. They are free again if no worker
/// has reserved any after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Unused {
    end: Timestamp,
    count: u32,
}

impl Pace {
    pub(in crate::engine) fn new(rate: Rate) -> Self {
        Self { rate, reserved: VecDeque::new(), last: Unused::default(), ask_at: None }
    }

    pub(in crate::engine) fn rate(&self) -> Rate {
        self.rate
    }

    /// Uses a start, if one is due.
    pub(in crate::engine) fn take(&mut self, now: Timestamp) -> bool {
        self.forget_late(now);
        let is_due = self.first().is_some_and(|first| first <= now);
        if is_due {
            self.last.count = 0;
            self.advance();
        }
        is_due
    }

    /// The next start that this worker has reserved, or else when it can reserve one.
    pub(in crate::engine) fn next(&self) -> Option<Timestamp> {
        self.first().or(self.ask_at)
    }

    fn first(&self) -> Option<Timestamp> {
        let Starts { first, used, .. } = self.reserved.front()?;
        Some(*first + self.every() * *used)
    }

    /// Returns how many items make sense to hold beside those that run.
    pub(in crate::engine) fn most_ready(&self) -> usize {
        usize::try_from(self.at_once()).unwrap_or(usize::MAX)
    }

    /// Returns how many starts to reserve now: no more than there are free places, because others
    /// could use what this worker cannot.
    pub(in crate::engine) fn missing(&mut self, free: usize, now: Timestamp) -> Option<u32> {
        self.forget_late(now);
        if self.ask_at.is_some_and(|at| at > now) {
            return None;
        }
        let wanted = self.at_once().min(u32::try_from(free).unwrap_or(u32::MAX));
        let left: u32 = self.reserved.iter().map(|starts| starts.count - starts.used).sum();
        (left <= wanted / 2 && left < wanted).then(|| wanted - left)
    }

    /// Returns the arguments of [`reserve`].
    pub(in crate::engine) fn reservation(&mut self, count: u32) -> Reservation {
        self.ask_at = None;
        // The rest of the last reservation still belongs to this worker.
        let lost = if self.reserved.is_empty() { self.last.count } else { 0 };
        let unused = Unused { count: lost, ..self.last };
        Reservation { rate: self.rate, count, unused }
    }

    /// Takes over the answer of [`reserve`].
    pub(in crate::engine) fn add(&mut self, reserved: Reserved, now: Timestamp) {
        match reserved {
            Reserved::Starts(starts) => {
                self.last = Unused { end: starts.first + self.every() * starts.count, count: 0 };
                self.reserved.push_back(Starts { received: now, ..starts });
            }
            Reserved::AskAt(at) => self.ask_at = Some(at),
        }
    }

    /// Returns the starts to [`give_back`], with their rate, if there are any.
    pub(in crate::engine) fn unused(&self) -> Option<(Rate, Unused)> {
        let mut unused = self.last;
        if self.reserved.len() > 1 {
            unused.count = 0;
        }
        // The end of the starts before those that are counted.
        let mut begin = unused.end - self.every() * unused.count;
        for starts in self.reserved.iter().rev() {
            if starts.first + self.every() * starts.count < begin {
                break;
            }
            unused.count += starts.count - starts.used;
            if starts.used > 0 {
                break;
            }
            begin = starts.first;
        }
        (unused.count > 0).then_some((self.rate, unused))
    }

    fn every(&self) -> Duration {
        self.rate.every()
    }

    fn at_once(&self) -> u32 {
        u32::try_from(AHEAD.as_nanos() / self.every().as_nanos().max(1)).unwrap_or(u32::MAX).max(1)
    }

    fn forget_late(&mut self, now: Timestamp) {
        while let Some(first) = self.first()
            && let Some(starts) = self.reserved.front()
            && usable_until(first, starts.received) < now
        {
            self.last.count += u32::from(self.reserved.len() == 1);
            self.advance();
        }
    }

    fn advance(&mut self) {
        if let Some(starts) = self.reserved.front_mut() {
            starts.used += 1;
            if starts.used >= starts.count {
                self.reserved.pop_front();
            }
        }
    }
}

/// A number of starts to reserve, and their rate.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Reservation {
    rate: Rate,
    count: u32,
    unused: Unused,
}

/// Reserves starts: the next free ones, as many as are near.
pub(in crate::engine) async fn reserve(
    store: &dyn Store,
    job: &str,
    Reservation { rate, count, unused }: Reservation,
) -> Result<Reserved, StoreError> {
    let (key, every) = (RateRecord::key(job), rate.every());
    loop {
        let (revision, found) = store.json::<RateRecord>(&key).await?;
        let now = store.now();
        let first = found.map_or(now, |found| {
            let was_every = found.limit.every();
            let is_last = found.next == unused.end;
            let next = if is_last { found.next - was_every * unused.count } else { found.next };
            free_start(next, was_every, every, now)
        });
        let last = now + ahead(every);
        if first > last {
            return Ok(Reserved::AskAt(first - ahead(every) / 2));
        }
        let near = last.since(first).as_nanos() / every.as_nanos().max(1);
        let count = count.min(u32::try_from(near).unwrap_or(u32::MAX).saturating_add(1));
        let next = RateRecord { limit: rate, next: first + every * count };
        // If another worker has reserved starts in the meantime, try again.
        if store.cas_json(&key, revision, &next).await? {
            return Ok(Reserved::Starts(Starts { first, used: 0, count, received: now }));
        }
    }
}

/// Gives back the starts that a worker that leaves has not used.
pub(in crate::engine) async fn give_back(
    store: &dyn Store,
    job: &str,
    (rate, unused): (Rate, Unused),
) -> Result<(), StoreError> {
    let key = RateRecord::key(job);
    let (revision, found) = store.json::<RateRecord>(&key).await?;
    if found.is_some_and(|found| found.next == unused.end) {
        let next = RateRecord { limit: rate, next: unused.end - rate.every() * unused.count };
        // If this fails, another worker has reserved the starts after them.
        store.cas_json(&key, revision, &next).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(1_000_000 + millis.cast_signed() * 1_000)
    }

    fn pace(rate: &str) -> Pace {
        Pace::new(rate.parse().unwrap())
    }

    fn starts(first: Timestamp, count: u32) -> Reserved {
        Reserved::Starts(Starts { first, used: 0, count, received: first })
    }

    async fn ask(store: &MemoryStore, pace: &mut Pace, count: u32) {
        let reservation = pace.reservation(count);
        let reserved = reserve(store, "job", reservation).await.unwrap();
        pace.add(reserved, store.now());
    }

    async fn next_in_store(store: &MemoryStore) -> Timestamp {
        RateRecord::find(store, "job").await.unwrap().unwrap().next
    }

    #[test]
    fn starts_are_used_at_their_times_and_lost_when_late() {
        let mut pace = pace("100/s");
        pace.add(starts(at(0), 25), at(0));
        assert!(pace.take(at(0)));
        assert!(!pace.take(at(9)));
        assert!(pace.take(at(10)));
        // Those of 20 to 140 are lost, and those from 150 on make up a short burst.
        let burst = (0..25).filter(|_| pace.take(at(200))).count();
        assert_eq!(burst, 6);
        assert_eq!(pace.next(), Some(at(210)));
    }

    #[test]
    fn a_start_that_a_slow_store_reserved_can_be_used_at_once() {
        let mut pace = pace("1/m");
        pace.add(starts(at(0), 1), at(300));
        assert!(pace.take(at(305)));
        pace.add(starts(at(60_000), 1), at(60_300));
        assert!(!pace.take(at(60_311)), "but not kept");
    }

    #[test]
    fn a_worker_reserves_briefly_and_at_most_its_capacity() {
        let mut pace = pace("100/s");
        assert_eq!(pace.missing(1_000, at(0)), Some(25));
        assert_eq!(pace.missing(4, at(0)), Some(4));
        pace.add(starts(at(0), 25), at(0));
        assert_eq!(pace.missing(1_000, at(0)), None);
        assert_eq!(pace.missing(1_000, at(200)), Some(15), "ten are left");
        assert_eq!(Pace::new("1/m".parse().unwrap()).missing(1_000, at(0)), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_schedule_is_never_further_ahead_than_an_interval_or_a_moment() {
        for (rate, most) in [("1/h", 3_600_000), ("4/s", 250), ("5/s", 250), ("1000/s", 250)] {
            let store = MemoryStore::new();
            for _ in 0..5 {
                // Each of them is killed.
                ask(&store, &mut pace(rate), 1_000).await;
                let ahead = next_in_store(&store).await.since(store.now());
                assert!(ahead <= Duration::from_millis(most), "{rate}: {ahead:?}");
                tokio::time::advance(Duration::from_millis(3)).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_schedule_that_is_too_far_ahead_is_put_right() {
        let store = MemoryStore::new();
        let (limit, next) = ("1/m".parse().unwrap(), store.now() + Duration::from_hours(5));
        let record = serde_json::to_string(&RateRecord { limit, next }).unwrap();
        store.cas(&RateRecord::key("job"), 0, &record).await.unwrap();
        let mut pace = pace("1/m");
        ask(&store, &mut pace, 1).await;
        assert_eq!(pace.next(), Some(store.now() + Duration::from_mins(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn another_rate_counts_from_the_last_start() {
        let store = MemoryStore::new();
        ask(&store, &mut pace("1/h"), 1).await;
        let began = store.now();
        let mut quicker = pace("1/m");
        ask(&store, &mut quicker, 1).await;
        assert_eq!(quicker.next(), Some(began + Duration::from_mins(1)));
        tokio::time::advance(Duration::from_mins(1)).await;
        ask(&store, &mut quicker, 1).await;
        assert!(quicker.take(store.now()));
        let mut slower = pace("1/h");
        ask(&store, &mut slower, 1).await;
        assert_eq!(slower.next(), Some(began + Duration::from_mins(61)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_leaving_worker_returns_unused_starts() {
        let (store, mut one) = (MemoryStore::new(), pace("100/s"));
        ask(&store, &mut one, 10).await;
        let first = one.next().unwrap();
        assert!(one.take(store.now()) && one.take(store.now() + Duration::from_millis(10)));
        ask(&store, &mut one, 5).await;
        give_back(&store, "job", one.unused().unwrap()).await.unwrap();
        assert_eq!(next_in_store(&store).await, first + Duration::from_millis(20));

        // Starts before another worker's starts are not free.
        let (mut one, mut other) = (pace("100/s"), pace("100/s"));
        ask(&store, &mut one, 3).await;
        ask(&store, &mut other, 3).await;
        let next = next_in_store(&store).await;
        give_back(&store, "job", one.unused().unwrap()).await.unwrap();
        assert_eq!(next_in_store(&store).await, next);
        give_back(&store, "job", other.unused().unwrap()).await.unwrap();
        assert_eq!(next_in_store(&store).await, next - Duration::from_millis(30));
    }

    #[tokio::test(start_paused = true)]
    async fn lost_starts_before_used_ones_are_not_free_again() {
        let (store, mut pace) = (MemoryStore::new(), pace("100/s"));
        ask(&store, &mut pace, 20).await;
        let first = pace.next().unwrap();
        let end = first + Duration::from_millis(200);
        // Ten are late, the next one is used, and nine are left.
        assert!(pace.take(first + Duration::from_millis(150)));
        assert!(pace.next().unwrap() < end);
        tokio::time::advance(Duration::from_millis(150)).await;
        let Reserved::Starts(more) = reserve(&store, "job", pace.reservation(1)).await.unwrap()
        else {
            panic!("it is near")
        };
        assert_eq!(more.first, end);
    }

    #[tokio::test(start_paused = true)]
    async fn workers_share_free_starts_and_the_last_lost_ones_are_free_again() {
        let store = MemoryStore::new();
        let (mut one, mut other) = (pace("1/m"), pace("1/m"));
        ask(&store, &mut one, 1).await;
        let first = one.next().unwrap();
        ask(&store, &mut other, 1).await;
        let minute = Duration::from_mins(1);
        assert_eq!(other.next(), Some(first + minute));
        assert_eq!(other.missing(1, first), None, "it asks again then");
        tokio::time::advance(minute).await;
        assert_eq!(other.missing(1, first + minute), Some(1));
        ask(&store, &mut other, 1).await;
        assert_eq!(other.next(), Some(first + minute));
        // It has no place when its time comes, and has one a little later.
        let later = first + minute + Duration::from_secs(5);
        assert!(!other.take(later));
        tokio::time::advance(Duration::from_secs(5)).await;
        ask(&store, &mut other, 1).await;
        let start = other.next().unwrap();
        assert!(start >= later && start < later + Duration::from_secs(1), "{start:?} {later:?}");
    }
}
