//! The settings of a retry quota.

/// What retries cost, and what successes give back.
///
/// The idea is that of the AWS SDKs' [standard retry
/// mode](https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html):
/// a retry costs several successes, so that an outage does not multiply the load. The
/// numbers are those of its first generation, from 2019 on. That of 2026
/// (`AWS_NEW_RETRIES_2026`) charges 14 for a retry and still 5 after throttling:
/// `retry_cost(14).timeout_cost(14).throttling_cost(5)`.
///
/// | setting | default |
/// | --- | --- |
/// | [`capacity`](Self::capacity): tokens in a full bucket | 500 |
/// | [`retry_cost`](Self::retry_cost): tokens that a retry costs | 5 |
/// | [`timeout_cost`](Self::timeout_cost): what a retry after a timeout costs | 10 |
/// | [`throttling_cost`](Self::throttling_cost): what a retry after a rate limit costs | as any other, 5 |
/// | [`success_refund`](Self::success_refund): what a first-try success gives back | 1 |
///
/// | [`refill_per_sec`](Self::refill_per_sec): what time gives back | 0, nothing |
///
/// A retry that succeeds gives back its own cost.
///
/// ```
/// use retry_rules::QuotaConfig;
///
/// const SMALL: QuotaConfig = QuotaConfig::new().capacity(100).refill_per_sec(0.5);
/// assert!(SMALL.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuotaConfig {
    pub(crate) capacity: u32,
    pub(crate) retry_cost: u32,
    pub(crate) timeout_cost: u32,
    pub(crate) throttling_cost: Option<u32>,
    pub(crate) success_refund: u32,
    pub(crate) refill_per_sec: f64,
}

impl QuotaConfig {
    /// The defaults of the table above.
    pub const fn new() -> Self {
        Self {
            capacity: 500,
            retry_cost: 5,
            timeout_cost: 10,
            throttling_cost: None,
            success_refund: 1,
            refill_per_sec: 0.0,
        }
    }

    /// Tokens in a full bucket. Default 500.
    pub const fn capacity(mut self, tokens: u32) -> Self {
        self.capacity = tokens;
        self
    }

    /// Tokens that a retry costs. Default 5.
    pub const fn retry_cost(mut self, tokens: u32) -> Self {
        self.retry_cost = tokens;
        self
    }

    /// Tokens that a retry after a timeout costs. Default 10.
    pub const fn timeout_cost(mut self, tokens: u32) -> Self {
        self.timeout_cost = tokens;
        self
    }

    /// Tokens that a retry costs after the server asked for fewer calls: HTTP 429 and the
    /// like. Default the [`retry_cost`](Self::retry_cost).
    pub const fn throttling_cost(mut self, tokens: u32) -> Self {
        self.throttling_cost = Some(tokens);
        self
    }

    /// Tokens that a second gives back, while the bucket is not full. Default 0.
    ///
    /// Without it a bucket fills by successes only, and one that is empty while all first
    /// attempts fail stays so.
    pub const fn refill_per_sec(mut self, tokens: f64) -> Self {
        self.refill_per_sec = tokens;
        self
    }

    /// Tokens that a call gives back which succeeds at its first attempt. Default 1.
    pub const fn success_refund(mut self, tokens: u32) -> Self {
        self.success_refund = tokens;
        self
    }

    /// The [`capacity`](Self::capacity).
    pub const fn get_capacity(&self) -> u32 {
        self.capacity
    }

    /// The [`retry_cost`](Self::retry_cost).
    pub const fn get_retry_cost(&self) -> u32 {
        self.retry_cost
    }

    /// The [`timeout_cost`](Self::timeout_cost).
    pub const fn get_timeout_cost(&self) -> u32 {
        self.timeout_cost
    }

    /// The [`throttling_cost`](Self::throttling_cost).
    pub const fn get_throttling_cost(&self) -> u32 {
        match self.throttling_cost {
            Some(tokens) => tokens,
            None => self.retry_cost,
        }
    }

    /// The [`refill_per_sec`](Self::refill_per_sec).
    pub const fn get_refill_per_sec(&self) -> f64 {
        self.refill_per_sec
    }

    /// The [`success_refund`](Self::success_refund).
    pub const fn get_success_refund(&self) -> u32 {
        self.success_refund
    }
}

impl Default for QuotaConfig {
    fn default() -> Self {
        Self::new()
    }
}
