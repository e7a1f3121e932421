//! The settings of a retry quota.

/// What retries cost, and what successes give back.
///
/// The idea and the numbers are those of the AWS SDKs' [standard retry
/// mode](https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html):
/// a retry costs several successes, so that an outage does not multiply the load.
///
/// | setting | default |
/// | --- | --- |
/// | [`capacity`](Self::capacity): tokens in a full bucket | 500 |
/// | [`retry_cost`](Self::retry_cost): tokens that a retry costs | 5 |
/// | [`timeout_cost`](Self::timeout_cost): what a retry after a timeout costs | 10 |
/// | [`success_refund`](Self::success_refund): what a first-try success gives back | 1 |
///
/// A retry that succeeds gives back its own cost.
///
/// ```
/// use retry_rules::QuotaConfig;
///
/// const SMALL: QuotaConfig = QuotaConfig::new().capacity(100);
/// assert!(SMALL.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaConfig {
    pub(crate) capacity: u32,
    pub(crate) retry_cost: u32,
    pub(crate) timeout_cost: u32,
    pub(crate) success_refund: u32,
}

impl QuotaConfig {
    /// The defaults of the table above.
    pub const fn new() -> Self {
        Self { capacity: 500, retry_cost: 5, timeout_cost: 10, success_refund: 1 }
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
