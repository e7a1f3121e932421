//! [`Pace`]: keeps a job to its rate, across all of its workers.
//!
//! The store has the time of the next free start. A worker reserves the starts of a short while at
//! once, by moving that time forward, and starts an item only at a start of its own. So the rate
//! holds whatever the workers do, for a small write now and then.

use std::collections::VecDeque;
use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::job::rate::Rate;
use crate::job::rate_record::RateRecord;
use crate::store::{Store, StoreError};

/// Starts are reserved for about this long.
const AHEAD: Duration = Duration::from_millis(250);
/// A start that is later than this is lost. Otherwise a worker that was stopped for a moment would
/// make up for it in a burst.
pub(super) const LATE: Duration = Duration::from_millis(50);

/// The rate of a job, and the starts that this worker has reserved.
pub(in crate::engine) struct Pace {
    rate: Rate,
    reserved: VecDeque<Starts>,
    /// The end of the last reservation, and how many of its last starts were lost.
    last: Unused,
}

/// Starts at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Starts {
    first: Timestamp,
    used: u32,
    count: u32,
}

/// The starts before this time that were reserved and not used. They are free again if nobody has
/// reserved any after them.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Unused {
    end: Timestamp,
    count: u32,
}

impl Pace {
    pub(in crate::engine) fn new(rate: Rate) -> Self {
        Self { rate, reserved: VecDeque::new(), last: Unused::default() }
    }

    pub(in crate::engine) fn rate(&self) -> Rate {
        self.rate
    }

    /// Uses a start, if one is due.
    pub(in crate::engine) fn take(&mut self, now: Timestamp) -> bool {
        self.forget_late(now);
        let is_due = self.next().is_some_and(|next| next <= now);
        if is_due {
            self.last.count = 0;
            self.advance();
        }
        is_due
    }

    /// The next start that this worker has reserved.
    pub(in crate::engine) fn next(&self) -> Option<Timestamp> {
        let Starts { first, used, .. } = self.reserved.front()?;
        Some(*first + self.every() * *used)
    }

    /// How many items make sense to hold beside those that run.
    pub(in crate::engine) fn most_ready(&self) -> usize {
        usize::try_from(self.at_once()).unwrap_or(usize::MAX)
    }

    /// How many starts to reserve now: no more than there are free places, because others could use
    /// what this worker cannot.
    pub(in crate::engine) fn missing(&mut self, free: usize, now: Timestamp) -> Option<u32> {
        self.forget_late(now);
        let wanted = self.at_once().min(u32::try_from(free).unwrap_or(u32::MAX));
        let left: u32 = self.reserved.iter().map(|starts| starts.count - starts.used).sum();
        (left <= wanted / 2 && left < wanted).then(|| wanted - left)
    }

    /// What [`reserve`] has to know.
    pub(in crate::engine) fn reservation(&self, count: u32) -> Reservation {
        // What is left of the last reservation is still this worker's.
        let lost = if self.reserved.is_empty() { self.last.count } else { 0 };
        let unused = Unused { count: lost, ..self.last };
        Reservation { rate: self.rate, count, unused }
    }

    /// Takes over starts that were reserved.
    pub(in crate::engine) fn add(&mut self, starts: Starts) {
        self.last = Unused { end: starts.first + self.every() * starts.count, count: 0 };
        self.reserved.push_back(starts);
    }

    fn every(&self) -> Duration {
        self.rate.every()
    }

    fn at_once(&self) -> u32 {
        u32::try_from(AHEAD.as_nanos() / self.every().as_nanos().max(1)).unwrap_or(u32::MAX).max(1)
    }

    fn forget_late(&mut self, now: Timestamp) {
        while self.next().is_some_and(|next| next + LATE < now) {
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

/// How many starts to reserve, at which rate.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Reservation {
    rate: Rate,
    count: u32,
    unused: Unused,
}

/// Reserves starts: the next free ones, from now on.
pub(in crate::engine) async fn reserve(
    store: &dyn Store,
    job: &str,
    Reservation { rate, count, unused }: Reservation,
) -> Result<Starts, StoreError> {
    let (key, every) = (RateRecord::key(job), rate.every());
    loop {
        let (revision, text) = store.get(&key).await?.unwrap_or_default();
        let found =
            serde_json::from_str(&text).map_or(Timestamp::default(), |found: RateRecord| {
                let is_last = found.next == unused.end;
                if is_last { found.next - every * unused.count } else { found.next }
            });
        let first = found.max(store.now());
        let next = RateRecord { limit: rate, next: first + every * count };
        let text = serde_json::to_string(&next).map_err(StoreError::other)?;
        // Another worker may have been quicker, which is not for ever.
        if store.cas(&key, revision, &text).await? {
            return Ok(Starts { first, used: 0, count });
        }
    }
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

    #[test]
    fn starts_are_used_at_their_times_and_lost_when_late() {
        let mut pace = pace("100/s");
        pace.add(Starts { first: at(0), used: 0, count: 25 });
        assert!(pace.take(at(0)));
        assert!(!pace.take(at(9)));
        assert!(pace.take(at(10)));
        // Those of 20 to 140 are lost, and those from 150 on make up a short burst.
        let burst = (0..25).filter(|_| pace.take(at(200))).count();
        assert_eq!(burst, 6);
        assert_eq!(pace.next(), Some(at(210)));
    }

    #[test]
    fn a_worker_reserves_for_a_short_while_and_no_more_than_it_can_start() {
        let mut pace = pace("100/s");
        assert_eq!(pace.missing(1_000, at(0)), Some(25));
        assert_eq!(pace.missing(4, at(0)), Some(4));
        pace.add(Starts { first: at(0), used: 0, count: 25 });
        assert_eq!(pace.missing(1_000, at(0)), None);
        assert_eq!(pace.missing(1_000, at(200)), Some(15), "ten are left");
        assert_eq!(Pace::new("1/m".parse().unwrap()).missing(1_000, at(0)), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_lost_before_others_were_used_is_not_free_again() {
        let (store, mut pace) = (MemoryStore::new(), pace("10/s"));
        pace.add(reserve(&store, "job", pace.reservation(10)).await.unwrap());
        let first = pace.next().unwrap();
        let end = first + Duration::from_secs(1);
        // Five are late, the next one is used, and four are left.
        let now = first + Duration::from_millis(555);
        assert!(!pace.take(now));
        let now = first + Duration::from_millis(600);
        assert!(pace.take(now) && pace.next().unwrap() < end);
        assert_eq!(reserve(&store, "job", pace.reservation(1)).await.unwrap().first, end);
    }

    #[tokio::test(start_paused = true)]
    async fn workers_share_the_free_starts_and_what_was_lost_last_is_free_again() {
        let store = MemoryStore::new();
        let (mut one, mut other) = (pace("1/m"), pace("1/m"));
        let first = reserve(&store, "job", one.reservation(1)).await.unwrap();
        one.add(first);
        other.add(reserve(&store, "job", other.reservation(1)).await.unwrap());
        let minute = Duration::from_mins(1);
        assert_eq!(other.next().unwrap(), first.first + minute);
        // The other one has no place when its time comes, and has one a little later.
        let later = first.first + minute + Duration::from_secs(5);
        assert!(!other.take(later));
        tokio::time::advance(Duration::from_secs(65)).await;
        other.add(reserve(&store, "job", other.reservation(1)).await.unwrap());
        let start = other.next().unwrap();
        assert!(start >= later && start < later + Duration::from_secs(1), "{start:?} {later:?}");
    }
}
