//! The public side of the bucket: creating it, paying, returning tokens, reading the level.

use core::sync::atomic::AtomicBool;

use retry_rules::{Invalid, QuotaConfig};

use super::RetryQuota;
use crate::base::const_panic::const_panic;
use crate::base::name::Name;
use crate::base::sync::{AtomicU32, AtomicU64, OnceLock, Ordering, const_fn};
use crate::classify::Class;
use crate::event::Event;
use crate::observe;

impl RetryQuota {
    const_fn! {
    /// Creates a full bucket. The name appears in events.
    ///
    /// ```
    /// use retry_runtime::{QuotaConfig, RetryQuota};
    ///
    /// static SMALL: RetryQuota = RetryQuota::new("small", QuotaConfig::new().capacity(100));
    /// assert_eq!(SMALL.available(), 100);
    /// ```
    ///
    /// # Panics
    /// If the settings break a rule; while compiling, for a `static`:
    ///
    /// ```compile_fail
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// static FREE: RetryQuota = RetryQuota::new("free", QuotaConfig::new().retry_cost(0));
    /// # FREE.available();
    /// ```
    #[track_caller]
    pub const fn new(name: &'static str /* such as `"outbound"` */, config: QuotaConfig /* such as `QuotaConfig::new().capacity(500)` */) -> Self {
        if let Err(invalid) = config.validate() {
            const_panic(invalid)
        }
        Self::valid(Name::from_static(name), config)
    }
    }

    /// Creates a bucket as [`new`](Self::new) does, with a name made at runtime.
    ///
    /// ```
    /// use retry_runtime::{QuotaConfig, RetryQuota};
    ///
    /// let quota = RetryQuota::named(format!("tenant {}", 7), QuotaConfig::new());
    /// assert_eq!(quota.name(), "tenant 7");
    /// ```
    ///
    /// # Panics
    /// If the settings break a rule.
    #[track_caller]
    pub fn named(name: impl Into<Name>, config: QuotaConfig) -> Self {
        match Self::try_new(name, config) {
            Ok(quota) => quota,
            Err(invalid) => const_panic(invalid),
        }
    }

    /// Creates a bucket with settings from a file.
    ///
    /// ```
    /// use retry_runtime::{QuotaConfig, RetryQuota};
    ///
    /// assert!(RetryQuota::try_new("free", QuotaConfig::new().retry_cost(0)).is_err());
    /// ```
    ///
    /// # Errors
    /// The rules that the settings break.
    pub fn try_new(name: impl Into<Name>, config: QuotaConfig) -> Result<Self, Invalid> {
        config.validate().map(|()| Self::valid(name.into(), config))
    }

    /// Takes the cost of a retry and returns it, or takes nothing and returns `None` if the bucket
    /// holds less; then the retry is not made.
    ///
    /// The cost depends on the class of the failure: after a rate limit it is
    /// `throttling_cost` tokens (5 unless set), after a timeout `timeout_cost` (10 unless
    /// set), after any other `retry_cost` (5 unless set).
    ///
    /// ```
    /// use retry_runtime::{Class, QuotaConfig, RetryQuota};
    ///
    /// let quota = RetryQuota::new("api", QuotaConfig::new().capacity(12));
    /// assert_eq!(quota.try_acquire(Class::TIMEOUT), Some(10));
    /// assert_eq!(quota.try_acquire(Class::empty()), None, "2 tokens are left");
    /// ```
    pub fn try_acquire(&self, class: Class) -> Option<u32> {
        let cost = if class.contains(Class::RATE_LIMIT) {
            self.config.get_throttling_cost()
        } else if class.contains(Class::TIMEOUT) {
            self.config.get_timeout_cost()
        } else {
            self.config.get_retry_cost()
        };
        self.refill();
        // Before the share, which counts the retry.
        let can_pay = self.level() >= cost;
        if can_pay && !self.is_within_share() {
            return None;
        }
        match self.change(|held| held.checked_sub(cost)) {
            Some(level) => {
                observe::quota_level(&self.name, level);
                Some(cost)
            }
            None => {
                // Another thread was faster and took the tokens.
                if can_pay {
                    self.leave_share();
                }
                if !self.reported.swap(true, Ordering::Relaxed) {
                    observe::emit(&Event::QuotaEmpty { quota: &self.name });
                }
                None
            }
        }
    }

    /// Returns the tokens that a retry took, because it succeeded. For one that was not made, there
    /// is [`cancel`](Self::cancel).
    ///
    /// The tokens that earlier retries of the same call took are lost. The bucket never holds more
    /// than its capacity.
    ///
    /// ```
    /// # use retry_runtime::{Class, QuotaConfig, RetryQuota};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// if let Some(cost) = quota.try_acquire(Class::empty()) {
    ///     quota.release(cost);
    /// }
    /// assert_eq!(quota.available(), 500);
    /// ```
    pub fn release(&self, cost: u32) {
        (self.puts)(self, cost);
    }

    /// Returns all that a retry took, because it was not made: its tokens, and its place in a
    /// [`share`](QuotaConfig::share). A `cost` of 0 stands for no retry.
    ///
    /// ```
    /// use retry_runtime::{Class, QuotaConfig, RetryQuota};
    ///
    /// let quota = RetryQuota::new("api", QuotaConfig::new().share(0.2));
    /// for _ in 0..100 {
    ///     if let Some(cost) = quota.try_acquire(Class::empty()) {
    ///         quota.cancel(cost); // the call was dropped while it waited
    ///     }
    /// }
    /// assert_eq!(quota.available(), 500);
    /// assert!(quota.try_acquire(Class::empty()).is_some());
    /// ```
    pub fn cancel(&self, cost: u32) {
        if cost > 0 {
            self.leave_share();
            (self.puts)(self, cost);
        }
    }

    /// Counts a call whose first attempt failed: a [`share`](QuotaConfig::share) is one of all
    /// calls. Calls that succeed are counted by [`refund`](Self::refund), and functions with
    /// `#[retry]` count their calls by themselves.
    ///
    /// ```
    /// use retry_runtime::{Class, QuotaConfig, RetryQuota};
    ///
    /// let quota = RetryQuota::new("api", QuotaConfig::new().share(0.2));
    /// for _ in 0..100 {
    ///     quota.first_attempt_failed();
    /// }
    /// let retries = (0..100).filter(|_| quota.try_acquire(Class::empty()).is_some());
    /// assert_eq!(retries.count(), 20);
    /// ```
    pub fn first_attempt_failed(&self) {
        self.call_ended();
    }

    /// Returns `success_refund` tokens (1 unless set): a call succeeded at its first attempt.
    ///
    /// On a full bucket, the healthy case, this only reads, unless a
    /// [`share`](QuotaConfig::share) counts calls.
    ///
    /// ```
    /// # use retry_runtime::{Class, QuotaConfig, RetryQuota};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// let _lost = quota.try_acquire(Class::empty());
    /// quota.refund();
    /// assert_eq!(quota.available(), 496);
    /// ```
    #[inline]
    pub fn refund(&self) {
        self.call_ended();
        if self.level() < self.config.get_capacity() {
            (self.puts)(self, self.config.get_success_refund());
        }
    }

    /// Returns how many tokens are in the bucket now.
    ///
    /// ```
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// assert_eq!(RetryQuota::new("api", QuotaConfig::new()).available(), 500);
    /// ```
    pub fn available(&self) -> u32 {
        self.refill();
        self.level()
    }

    /// Fills the bucket.
    ///
    /// ```
    /// # use retry_runtime::{Class, QuotaConfig, RetryQuota};
    /// let quota = RetryQuota::new("api", QuotaConfig::new());
    /// let _lost = quota.try_acquire(Class::TIMEOUT);
    /// quota.reset();
    /// assert_eq!(quota.available(), 500);
    /// ```
    pub fn reset(&self) {
        (self.puts)(self, self.config.get_capacity());
    }

    retry_rules::accessors! {
        /// Returns the name that appears in events.
        ///
        /// ```
        /// # use retry_runtime::{QuotaConfig, RetryQuota};
        /// assert_eq!(RetryQuota::new("api", QuotaConfig::new()).name(), "api");
        /// ```
        pub fn name(&self) -> &str { &name }

        /// Returns the settings.
        ///
        /// ```
        /// # use retry_runtime::{QuotaConfig, RetryQuota};
        /// let quota = RetryQuota::new("api", QuotaConfig::new());
        /// assert_eq!(quota.config().get_retry_cost(), 5);
        /// ```
        pub const fn config(&self) -> &QuotaConfig { &config }
    }

    const_fn! {
    const fn valid(name: Name, config: QuotaConfig) -> Self {
        Self {
            tokens: AtomicU32::new(config.get_capacity()),
            reported: AtomicBool::new(false),
            filled_until: AtomicU64::new(0),
            pays: Self::try_acquire,
            puts: Self::add,
            leaves: |quota| quota.recent().cancel(),
            config,
            name,
            recent: OnceLock::new(),
        }
    }
    }
}
