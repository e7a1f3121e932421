//! The retry quota: a bucket of tokens, shared between calls, that retries empty and successes
//! fill.
//!
//! It limits the load that retries add while everything fails; it does not limit first attempts. It
//! can also be configured to refill with time: the clock is read only when a retry is paid for,
//! never when a call succeeds.

// The public methods come first: the documentation lists methods in this order.
mod bucket;
mod recent;

use core::mem;
use core::sync::atomic::AtomicBool;
use std::thread;

use retry_rules::QuotaConfig;

use self::recent::{Asked, Recent};
use crate::base::name::Name;
use crate::base::sync::{AtomicU32, AtomicU64, OnceLock, Ordering};
use crate::classify::Class;
use crate::event::Event;
use crate::observe;
use crate::protect::clock_nanos;

/// A token bucket that bounds how many retries calls make together.
///
/// A retry costs several tokens and a success at the first attempt returns one, so an outage
/// empties the bucket and then each call is tried once. Afterwards the bucket fills again, and with
/// `refill_per_sec` it also fills with time. The idea and the default numbers come from the AWS
/// SDKs: see [`QuotaConfig`].
///
/// It is shared by reference, as a `static` or in an `Arc`; it does not implement
/// `Clone`, because a copy would be a second bucket.
///
/// ```
/// use retry_runtime::{Class, QuotaConfig, RetryQuota};
///
/// static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
///
/// let cost = OUTBOUND.try_acquire(Class::NETWORK).expect("a full bucket allows retries");
/// assert_eq!(OUTBOUND.available(), 495);
/// OUTBOUND.release(cost); // the retry succeeded
/// assert_eq!(OUTBOUND.available(), 500);
/// ```
pub struct RetryQuota {
    /// Never more than the capacity.
    tokens: AtomicU32,
    /// Set if it was reported empty and has not been half full since.
    reported: AtomicBool,
    /// The time up to which refill has been added, as a [`clock_nanos`] time.
    filled_until: AtomicU64,
    config: QuotaConfig,
    // A call that may have a quota reaches these only through it: a program that creates no quota does
    // not contain them.
    pays: fn(&Self, Class) -> Option<u32>,
    puts: fn(&Self, u32),
    leaves: fn(&Self),
    pub(super) name: Name,
    /// The recent calls; present once one has ended, if retries are bounded by a share of them.
    recent: OnceLock<Box<Recent>>,
}

impl RetryQuota {
    /// Like [`try_acquire`](Self::try_acquire), for a retry that may still not be made.
    pub(crate) fn reserve(&self, class: Class) -> Option<Reservation<'_>> {
        (self.pays)(self, class).map(|cost| Reservation { quota: self, cost })
    }

    /// A call's first attempt has ended, and the call counts for the share.
    #[inline]
    pub(crate) fn call_ended(&self) {
        if self.config.get_share().is_some() {
            self.recent().call();
        }
    }

    fn recent(&self) -> &Recent {
        self.recent.get_or_init(|| Box::new(Recent::new()))
    }

    /// Returns whether another retry stays within the share of the calls; if so, it counts.
    fn is_within_share(&self) -> bool {
        let Some(share) = self.config.get_share() else { return true };
        match self.recent().retry(share) {
            Asked::Allowed => true,
            Asked::FirstRefused => {
                observe::emit(&Event::QuotaShareReached { quota: &self.name });
                false
            }
            Asked::Refused => false,
        }
    }

    /// Returns the place in the share of a retry that is not made.
    fn leave_share(&self) {
        if self.config.get_share().is_some() {
            (self.leaves)(self);
        }
    }

    /// Adds the tokens that have accrued since the last refill.
    fn refill(&self) {
        let rate = self.config.get_refill_per_sec();
        if rate > 0.0 {
            self.refill_by_time(rate);
        }
    }

    #[cold]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate, and a token needs no more than 53 bits of nanoseconds"
    )]
    fn refill_by_time(&self, rate: f64) {
        const SEC: f64 = 1e9;

        let now = clock_nanos::now();
        let since = self.filled_until.load(Ordering::Relaxed);
        let elapsed = now.saturating_sub(since);
        let due = (elapsed as f64 * rate / SEC) as u32;
        if due == 0 {
            return;
        }
        let until = if due >= self.config.get_capacity() {
            now
        } else {
            // The remaining fraction of a token is carried over.
            since + ((f64::from(due) * SEC / rate).ceil() as u64).min(elapsed)
        };
        let claim =
            self.filled_until.compare_exchange(since, until, Ordering::Relaxed, Ordering::Relaxed);
        // Otherwise, another thread has already added the tokens for this time.
        if claim.is_ok() {
            (self.puts)(self, due);
        }
    }

    /// Simulates the passing of time: loom's models must not depend on it.
    #[cfg(retry_loom)]
    #[doc(hidden)]
    pub fn age(&self, nanos: u64) {
        let _ = self.filled_until.fetch_sub(nanos, Ordering::Relaxed);
    }

    /// Counts a call as ended: loom's models make none.
    #[cfg(retry_loom)]
    #[doc(hidden)]
    pub fn count_call(&self) {
        self.call_ended();
    }

    // Not inlined: only failures lead here.
    #[cold]
    fn add(&self, tokens: u32) {
        let capacity = self.config.get_capacity();
        let filled = |held: u32| held.saturating_add(tokens).min(capacity);
        if let Some(level) = self.change(|held| (held < capacity).then(|| filled(held))) {
            observe::quota_level(&self.name, level);
            // Not immediately, or the quota would be reported again and again around the level at
            // which it cannot pay.
            let dearest = self.config.get_retry_cost().max(self.config.get_timeout_cost());
            let dearest = dearest.max(self.config.get_throttling_cost());
            if level >= dearest.max(capacity / 2) {
                self.reported.store(false, Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn level(&self) -> u32 {
        // Relaxed here and below: the number guards no other data.
        self.tokens.load(Ordering::Relaxed)
    }

    /// Changes the level atomically and returns the new one, or `None` if `to` does not change it.
    fn change(&self, to: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let before = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, &to);
        before.ok().and_then(to)
    }
}

retry_rules::partial_debug!(RetryQuota, |self| {
    name: &self.name,
    tokens: &self.level(),
    config: &self.config,
});

/// The tokens, and the place in the share, of a retry that has not been made yet. If dropped before
/// that, as when user code panics, both are returned.
pub(crate) struct Reservation<'a> {
    quota: &'a RetryQuota,
    cost: u32,
}

impl<'a> Reservation<'a> {
    /// The reservation of a retry for which `quota` has already paid `cost`; 0 without a retry.
    pub(crate) fn of(quota: &'a RetryQuota, cost: u32) -> Self {
        Self { quota, cost }
    }

    /// The retry is certain: keeps tokens and place, and returns the cost.
    pub(crate) fn spend(self) -> u32 {
        let cost = self.cost;
        mem::forget(self);
        cost
    }
}

impl Drop for Reservation<'_> {
    // Not inlined: it is part of the drop glue of every future with such a wait.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        self.quota.cancel(self.cost);
    }
}

/// Cancels a retry if a panic unwinds through here that began after this was created.
pub(crate) struct OnPanic<'a> {
    owed: Option<(&'a RetryQuota, u32)>,
    panicked_before: bool,
}

impl<'a> OnPanic<'a> {
    pub(crate) fn release(quota: Option<&'a RetryQuota>, cost: u32) -> Self {
        Self { owed: quota.map(|quota| (quota, cost)), panicked_before: thread::panicking() }
    }
}

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if let (Some((quota, cost)), false) = (self.owed, self.panicked_before) {
            if thread::panicking() {
                quota.cancel(cost);
            }
        }
    }
}
