//! The settings of a retry quota.

/// The costs of retries and the refunds of successes.
///
/// The idea comes from the AWS SDKs' [standard retry
/// mode](https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html): a retry
/// costs several successes, so that an outage does not multiply the load. The numbers are from its
/// first generation, from 2019 on. The 2026 one (`AWS_NEW_RETRIES_2026`) charges 14 for a retry and
/// still 5 after throttling: `retry_cost(14).timeout_cost(14).throttling_cost(5)`.
///
/// | setting | default |
/// | --- | --- |
/// | [`capacity`](Self::capacity): tokens in a full bucket | 500 |
/// | [`retry_cost`](Self::retry_cost): tokens that a retry costs | 5 |
/// | [`timeout_cost`](Self::timeout_cost): what a retry after a timeout costs | 10 |
/// | [`throttling_cost`](Self::throttling_cost): what a retry after a rate limit costs | as any other, 5 |
/// | [`success_refund`](Self::success_refund): what a first-try success refunds | 1 |
/// | [`refill_per_sec`](Self::refill_per_sec): tokens that come back each second | 0 |
/// | [`share`](Self::share): retries as a share of the calls, at most | no limit |
///
/// A retry that succeeds refunds its own cost.
///
/// ```
/// use retry_rules::QuotaConfig;
///
/// const SMALL: QuotaConfig = QuotaConfig::new().capacity(100).refill_per_sec(0.5);
/// assert!(SMALL.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuotaConfig {
    #[deprecated(note = "a method sets it: write `QuotaConfig::new().capacity(100)`")]
    pub(crate) capacity: u32,
    pub(crate) retry_cost: u32,
    pub(crate) timeout_cost: u32,
    pub(crate) throttling_cost: Option<u32>,
    pub(crate) success_refund: u32,
    pub(crate) refill_per_sec: f64,
    pub(crate) share: Option<f64>,
}

impl QuotaConfig {
    /// Creates a config with the defaults of the table above.
    ///
    /// ```
    /// # use retry_rules::QuotaConfig;
    /// assert_eq!(QuotaConfig::new().get_capacity(), 500);
    /// ```
    pub const fn new() -> Self /* then `.capacity(100)` and the like, without a `build()` */ {
        Self {
            capacity: 500,
            retry_cost: 5,
            timeout_cost: 10,
            throttling_cost: None,
            success_refund: 1,
            refill_per_sec: 0.0,
            share: None,
        }
    }

    crate::accessors! {
        /// Sets the tokens in a full bucket. Default 500.
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// // Twenty retries at once.
        /// let config = QuotaConfig::new().capacity(100);
        /// assert_eq!(config.get_capacity() / config.get_retry_cost(), 20);
        /// ```
        pub const fn capacity(self, tokens: u32) -> Self { capacity: tokens }

        /// Sets the tokens that a retry costs. Default 5.
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// assert_eq!(QuotaConfig::new().retry_cost(14).get_retry_cost(), 14);
        /// assert!(QuotaConfig::new().retry_cost(0).validate().is_err());
        /// ```
        pub const fn retry_cost(self, tokens: u32) -> Self { retry_cost: tokens }

        /// Sets the tokens that a retry after a timeout costs. Default 10.
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// assert_eq!(QuotaConfig::new().timeout_cost(20).get_timeout_cost(), 20);
        /// ```
        pub const fn timeout_cost(self, tokens: u32) -> Self { timeout_cost: tokens }

        /// Sets the tokens that a retry costs after the server asked for fewer calls: HTTP
        /// 429 and the like. Default: the [`retry_cost`](Self::retry_cost).
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// let config = QuotaConfig::new().retry_cost(14);
        /// assert_eq!(config.get_throttling_cost(), 14);
        /// assert_eq!(config.throttling_cost(5).get_throttling_cost(), 5);
        /// ```
        pub const fn throttling_cost(self, tokens: u32) -> Self { throttling_cost: Some(tokens) }

        /// Sets the tokens that come back each second, while the bucket is not full. Default 0.
        ///
        /// Without it, only successes fill a bucket, and an empty one stays empty while all first
        /// attempts fail.
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// // One retry each ten seconds, whatever happens.
        /// let config = QuotaConfig::new().refill_per_sec(0.5);
        /// assert!(config.validate().is_ok());
        /// ```
        pub const fn refill_per_sec(self, tokens: f64) -> Self { refill_per_sec: tokens }

        /// Sets the tokens that a call refunds if its first attempt succeeds. Default 1.
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// assert_eq!(QuotaConfig::new().success_refund(2).get_success_refund(), 2);
        /// ```
        pub const fn success_refund(self, tokens: u32) -> Self { success_refund: tokens }

        /// Sets how many retries and hedges there may be as a share of the calls of the last 10
        /// seconds, beside what the bucket allows. Ten of them in 10 seconds are always free.
        /// Default none; above 0, up to 1.
        ///
        /// The bucket bounds retries by *successes*, so that an outage empties it, however many
        /// calls there are; the share bounds them by *calls*, so that some calls are retried during
        /// an outage as well. Where only the share is to count, choose a bucket that is large and
        /// refills. Each process counts its own calls, so one share bounds the retries of any number of
        /// processes.
        ///
        /// Source: the retry budgets of
        /// [Finagle](https://twitter.github.io/finagle/guide/Clients.html#retries) and Linkerd.
        ///
        /// ```
        /// # use retry_rules::QuotaConfig;
        /// let config = QuotaConfig::new().share(0.2);
        /// assert_eq!(config.get_share(), Some(0.2));
        /// ```
        pub const fn share(self, share: f64 /* `0.2` is one retry in five calls */) -> Self { share: Some(share) }

        /// Returns the [`capacity`](Self::capacity).
        pub const fn get_capacity(&self) -> u32 { capacity }

        /// Returns the [`retry_cost`](Self::retry_cost).
        pub const fn get_retry_cost(&self) -> u32 { retry_cost }

        /// Returns the [`timeout_cost`](Self::timeout_cost).
        pub const fn get_timeout_cost(&self) -> u32 { timeout_cost }
    }

    /// Returns the [`throttling_cost`](Self::throttling_cost).
    pub const fn get_throttling_cost(&self) -> u32 {
        match self.throttling_cost {
            Some(tokens) => tokens,
            None => self.retry_cost,
        }
    }

    crate::accessors! {
        /// Returns the [`refill_per_sec`](Self::refill_per_sec).
        pub const fn get_refill_per_sec(&self) -> f64 { refill_per_sec }

        /// Returns the [`share`](Self::share), if retries are bounded by one.
        pub const fn get_share(&self) -> Option<f64> { share }

        /// Returns the [`success_refund`](Self::success_refund).
        pub const fn get_success_refund(&self) -> u32 { success_refund }
    }
}

impl Default for QuotaConfig {
    fn default() -> Self {
        Self::new()
    }
}
