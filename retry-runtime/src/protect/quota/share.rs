//! A bucket of which a fleet has lent a share to this process: how much, for how long, and what
//! remains after that.
//!
//! The expiry of the share is checked when a retry is paid for, never when a call succeeds.

use core::time::Duration;

use super::RetryQuota;
use super::level::Level;
use crate::base::clock;
use crate::base::sync::{Ordering, lock};
use crate::protect::clock_nanos;

/// The share of a bucket that a fleet has lent to a process.
///
/// A bucket with half of the capacity refills at half of `refill_per_sec`.
///
/// ```
/// use core::time::Duration;
/// use retry_runtime::{QuotaConfig, RetryQuota, Share};
///
/// let minute = Duration::from_secs(60);
/// let share = Share { capacity: 40, lasts: minute, floor: 10, floor_after: minute };
/// let quota = RetryQuota::new("api", QuotaConfig::new());
/// quota.accept(share, 0);
/// assert_eq!(quota.limit(), 40);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of tokens the bucket may hold for now.
    pub capacity: u32,
    /// The time until it ends, from now.
    pub lasts: Duration,
    /// The number of tokens it may hold after that; until `floor_after`, never more than
    /// `capacity`.
    pub floor: u32,
    /// After how long, from now, it may hold `floor` tokens even if `capacity` was less.
    pub floor_after: Duration,
}

/// A [`Share`] with its ends in nanoseconds of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    lasts_until: u64,
    floor: u32,
    floor_from: u64,
}

impl RetryQuota {
    /// Makes this bucket a share of one that several processes share, and adds `tokens`. Tokens
    /// that it already holds stay, as far as there is room for them.
    ///
    /// For sharing a bucket between processes, as the crate `retry-fleet` does.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{QuotaConfig, RetryQuota, Share};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// let minute = Duration::from_secs(60);
    /// quota.accept(Share { capacity: 40, lasts: minute, floor: 10, floor_after: minute }, 0);
    /// assert_eq!((quota.limit(), quota.available()), (40, 40));
    /// ```
    pub fn accept(&self, share: Share, tokens: u32) {
        let Share { capacity, lasts, floor, floor_after } = share;
        let now = clock_nanos::now();
        let until = |span| now.saturating_add(clock::nanos_of(span));
        let lasts_until = until(lasts);
        let floor_from = until(floor_after).max(lasts_until);
        // The tokens accrued until now are computed with the old share.
        self.refill();
        let mut terms = lock(&self.terms);
        *terms = Some(Terms { lasts_until, floor, floor_from });
        self.is_lent.store(true, Ordering::Relaxed);
        let _level = self.change(|level| {
            Some(Level::new(capacity, level.tokens().min(capacity).saturating_add(tokens)))
        });
    }

    /// Gives up all capacity above this, and returns the number of tokens that no longer fit:
    /// the lender may lend them to others.
    ///
    /// ```
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// assert_eq!(quota.shrink(100), 400);
    /// assert_eq!((quota.limit(), quota.available()), (100, 100));
    /// ```
    pub fn shrink(&self, capacity: u32) -> u32 {
        let mut before = self.level();
        loop {
            let after = before.limited_to(before.limit().min(capacity));
            let swapped = self.level.compare_exchange(
                before.0,
                after.0,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swapped {
                Ok(_) => return before.tokens() - after.tokens(),
                Err(present) => before = Level(present),
            }
        }
    }

    /// Ends the sharing: the bucket has its whole capacity again, and keeps the tokens that it
    /// holds.
    ///
    /// ```
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// quota.shrink(100);
    /// quota.unshare();
    /// assert_eq!((quota.limit(), quota.available()), (500, 100));
    /// ```
    pub fn unshare(&self) {
        self.refill();
        let mut terms = lock(&self.terms);
        *terms = None;
        self.is_lent.store(false, Ordering::Relaxed);
        let capacity = self.config.get_capacity();
        let _level = self.change(|level| Some(level.limited_to(capacity)));
    }

    /// Returns how many tokens retries have asked for since this was last called, granted or not.
    /// They are counted from [`accept`](Self::accept) on.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{Class, QuotaConfig, RetryQuota, Share};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// let minute = Duration::from_secs(60);
    /// quota.accept(Share { capacity: 7, lasts: minute, floor: 0, floor_after: minute }, 0);
    /// assert_eq!(quota.try_acquire(Class::empty()), Some(5));
    /// assert_eq!(quota.try_acquire(Class::empty()), None);
    /// assert_eq!(quota.take_demand(), 10);
    /// ```
    pub fn take_demand(&self) -> u32 {
        self.demand.swap(0, Ordering::Relaxed)
    }

    pub(super) fn note_demand(&self, cost: u32) {
        if self.is_lent.load(Ordering::Relaxed) {
            self.demand.fetch_add(cost, Ordering::Relaxed);
        }
    }

    /// Returns how many tokens the bucket may hold now: its capacity, or the share that was lent.
    ///
    /// ```
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// assert_eq!(RetryQuota::new("api", QuotaConfig::new()).limit(), 500);
    /// ```
    pub fn limit(&self) -> u32 {
        self.enforce_terms();
        self.level().limit()
    }

    /// Removes the tokens that the terms no longer allow.
    pub(super) fn enforce_terms(&self) {
        if self.is_lent.load(Ordering::Relaxed) {
            self.check_terms();
        }
    }

    #[cold]
    fn check_terms(&self) {
        let mut guard = lock(&self.terms);
        let Some(terms) = *guard else { return };
        let now = clock_nanos::now();
        if now < terms.lasts_until {
            return;
        }
        let has_floor = now >= terms.floor_from;
        self.refill();
        let _level = self.change(|level| {
            let limit = if has_floor { terms.floor } else { level.limit().min(terms.floor) };
            (limit != level.limit()).then(|| level.limited_to(limit))
        });
        if has_floor {
            // Nothing changes after this.
            *guard = Some(Terms { lasts_until: u64::MAX, ..terms });
        }
    }
}
