//! The settings of a circuit breaker.

use core::time::Duration;

/// What a failure rate is measured over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// The last so many calls.
    Calls(u32),
    /// The calls of the last so long.
    Time(Duration),
}

/// Calls that take this long count as slow; too many of them open the breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowCalls {
    pub(crate) longer_than: Duration,
    pub(crate) rate: f64,
}

impl SlowCalls {
    /// A call that takes longer than this is slow.
    pub const fn longer_than(&self) -> Duration {
        self.longer_than
    }

    /// The share of slow calls, above 0 and up to 1, that opens the breaker.
    pub const fn rate(&self) -> f64 {
        self.rate
    }
}

/// When a circuit breaker opens, for how long, and how it closes again.
///
/// | setting | default |
/// | --- | --- |
/// | [`failure_threshold`](Self::failure_threshold): consecutive failures that open it | 5 |
/// | [`failure_rate`](Self::failure_rate): open by rate instead | off |
/// | [`window_calls`](Self::window_calls) or [`window_time`](Self::window_time): what the rates are measured over | 100 calls |
/// | [`minimum_calls`](Self::minimum_calls): calls in the window before a rate counts | 10 |
/// | [`slow_calls`](Self::slow_calls): open by the share of slow calls | off |
/// | [`timeout`](Self::timeout): how long it stays open | 30 s |
/// | [`timeout_jitter`](Self::timeout_jitter): spread of that, so that processes do not probe at one moment | 0 |
/// | [`half_open_requests`](Self::half_open_requests): probes at a time | 3 |
/// | [`success_threshold`](Self::success_threshold): successful probes that close it | 3 |
///
/// ```
/// use core::time::Duration;
/// use retry_rules::BreakerConfig;
///
/// const DB: BreakerConfig = BreakerConfig::new()
///     .failure_rate(0.5)
///     .window_time(Duration::from_secs(10))
///     .minimum_calls(20);
/// assert!(DB.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerConfig {
    pub(crate) failure_threshold: u32,
    pub(crate) failure_rate: Option<f64>,
    pub(crate) window: Window,
    pub(crate) minimum_calls: u32,
    pub(crate) slow_calls: Option<SlowCalls>,
    pub(crate) success_threshold: u32,
    pub(crate) timeout: Duration,
    pub(crate) timeout_jitter: f64,
    pub(crate) half_open_requests: u32,
}

impl BreakerConfig {
    /// The defaults of the table above.
    pub const fn new() -> Self {
        Self {
            failure_threshold: 5,
            failure_rate: None,
            window: Window::Calls(100),
            minimum_calls: 10,
            slow_calls: None,
            success_threshold: 3,
            timeout: Duration::from_secs(30),
            timeout_jitter: 0.0,
            half_open_requests: 3,
        }
    }

    /// Consecutive failures that open the breaker. Default 5; at least 1.
    /// Where a rate is set, the rate decides instead.
    pub const fn failure_threshold(mut self, failures: u32) -> Self {
        self.failure_threshold = failures;
        self
    }

    /// Open when at least this share of the calls in the window failed; above 0, up to 1.
    pub const fn failure_rate(mut self, rate: f64) -> Self {
        self.failure_rate = Some(rate);
        self
    }

    /// Measure rates over the last `calls` calls. The default, with 100.
    pub const fn window_calls(mut self, calls: u32) -> Self {
        self.window = Window::Calls(calls);
        self
    }

    /// Measure rates over the last `time`.
    pub const fn window_time(mut self, time: Duration) -> Self {
        self.window = Window::Time(time);
        self
    }

    /// A rate counts only once this many calls are in the window. Default 10.
    pub const fn minimum_calls(mut self, calls: u32) -> Self {
        self.minimum_calls = calls;
        self
    }

    /// Open when at least the share `rate` of the calls in the window took
    /// longer than `longer_than`.
    pub const fn slow_calls(mut self, longer_than: Duration, rate: f64) -> Self {
        self.slow_calls = Some(SlowCalls { longer_than, rate });
        self
    }

    /// One half of [`slow_calls`](Self::slow_calls), which are two settings of the attribute.
    #[doc(hidden)]
    pub const fn slow_call(self, longer_than: Duration) -> Self {
        let rate = match self.slow_calls {
            Some(slow) => slow.rate,
            // Any share keeps the rules about the rest.
            None => 1.0,
        };
        self.slow_calls(longer_than, rate)
    }

    /// The other half.
    #[doc(hidden)]
    pub const fn slow_rate(self, rate: f64) -> Self {
        let longer_than = match self.slow_calls {
            Some(slow) => slow.longer_than,
            None => Duration::MAX,
        };
        self.slow_calls(longer_than, rate)
    }

    /// Successful probes that close the breaker again. Default 3.
    pub const fn success_threshold(mut self, successes: u32) -> Self {
        self.success_threshold = successes;
        self
    }

    /// How long the breaker stays open before it lets probes through. Default 30 s.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Spread the open time by up to this share more, so that processes that
    /// opened together do not probe together. From 0 (default) to 1.
    pub const fn timeout_jitter(mut self, factor: f64) -> Self {
        self.timeout_jitter = factor;
        self
    }

    /// Probes that may be under way at a time while half-open. Default 3.
    pub const fn half_open_requests(mut self, requests: u32) -> Self {
        self.half_open_requests = requests;
        self
    }

    /// The [`failure_threshold`](Self::failure_threshold).
    pub const fn get_failure_threshold(&self) -> u32 {
        self.failure_threshold
    }

    /// The [`failure_rate`](Self::failure_rate), if it is set.
    pub const fn get_failure_rate(&self) -> Option<f64> {
        self.failure_rate
    }

    /// What the rates are measured over.
    pub const fn get_window(&self) -> Window {
        self.window
    }

    /// The [`minimum_calls`](Self::minimum_calls).
    pub const fn get_minimum_calls(&self) -> u32 {
        self.minimum_calls
    }

    /// The [`slow_calls`](Self::slow_calls), if they are set.
    pub const fn get_slow_calls(&self) -> Option<SlowCalls> {
        self.slow_calls
    }

    /// The [`success_threshold`](Self::success_threshold).
    pub const fn get_success_threshold(&self) -> u32 {
        self.success_threshold
    }

    /// The [`timeout`](Self::timeout).
    pub const fn get_timeout(&self) -> Duration {
        self.timeout
    }

    /// The [`timeout_jitter`](Self::timeout_jitter).
    pub const fn get_timeout_jitter(&self) -> f64 {
        self.timeout_jitter
    }

    /// The [`half_open_requests`](Self::half_open_requests).
    pub const fn get_half_open_requests(&self) -> u32 {
        self.half_open_requests
    }

    /// Whether rates decide, and not consecutive failures.
    pub const fn is_by_rate(&self) -> bool {
        self.failure_rate.is_some() || self.slow_calls.is_some()
    }
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self::new()
    }
}
