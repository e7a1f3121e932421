//! The settings of a circuit breaker.

use core::time::Duration;

use crate::policy::arithmetic::{less, min, power, scale};

/// The window over which a failure rate is measured.
///
/// ```
/// use core::time::Duration;
/// use retry_rules::{BreakerConfig, Window};
///
/// let config = BreakerConfig::new().failure_rate(0.5);
/// assert_eq!(config.get_window(), Window::Calls(100));
/// let second = Duration::from_secs(1);
/// assert_eq!(config.window_time(second).get_window(), Window::Time(second));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// The last calls, this many.
    Calls(u32),
    /// The calls within the last duration.
    Time(Duration),
}

/// Calls that take this long count as slow; too many of them open the breaker.
///
/// ```
/// use core::time::Duration;
/// use retry_rules::BreakerConfig;
///
/// let config = BreakerConfig::new().slow_calls(Duration::from_secs(2), 0.5);
/// let slow = config.get_slow_calls().unwrap();
/// assert_eq!((slow.longer_than(), slow.rate()), (Duration::from_secs(2), 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowCalls {
    pub(crate) longer_than: Duration,
    pub(crate) rate: f64,
}

impl SlowCalls {
    crate::accessors! {
        /// Returns how long a call may take before it counts as slow.
        pub const fn longer_than(&self) -> Duration { longer_than }

        /// Returns the share of slow calls, above 0 and up to 1, that opens the breaker.
        pub const fn rate(&self) -> f64 { rate }
    }
}

/// The step that follows once enough probes of a half-open breaker have succeeded.
///
/// ```
/// use retry_rules::{BreakerConfig, HalfOpen};
///
/// assert_eq!(BreakerConfig::new().get_half_open(), HalfOpen::Probes);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HalfOpen {
    /// It closes. The default.
    #[default]
    Probes,
    /// It admits a share of the calls, so that a server that has just recovered does not receive
    /// all of them at once: 1 %, 5 %, 25 % and 50 %, each for the [stage
    /// time](BreakerConfig::stage_time) and until a call that it admitted has succeeded. These
    /// calls are judged like the calls of a closed breaker. If none succeeds and none is under way,
    /// the next call is admitted. After the last stage the breaker closes.
    Gradual,
}

/// The settings of a circuit breaker: when it opens, for how long, and how it closes again.
///
/// | setting | default |
/// | --- | --- |
/// | [`failure_threshold`](Self::failure_threshold): consecutive failures that open it | 5 |
/// | [`failure_rate`](Self::failure_rate): open by rate instead, or by both | off |
/// | [`window_calls`](Self::window_calls) or [`window_time`](Self::window_time): what the rates are measured over | 100 calls |
/// | [`minimum_calls`](Self::minimum_calls): calls in the window before a rate counts | 10 |
/// | [`slow_calls`](Self::slow_calls): open by the share of slow calls | off |
/// | [`timeout`](Self::timeout): how long it stays open | 30 s |
/// | [`timeout_growth`](Self::timeout_growth): its growth factor each time it reopens | 1, no growth |
/// | [`max_timeout`](Self::max_timeout): the longest it can grow to | 5 min |
/// | [`timeout_jitter`](Self::timeout_jitter): random extra, so that processes do not probe together | 0 |
/// | [`half_open_requests`](Self::half_open_requests): probes at a time | 3 |
/// | [`success_threshold`](Self::success_threshold): successful probes that close it | 3 |
/// | [`half_open_for`](Self::half_open_for): closes after this time with fewer successes | off |
/// | [`half_open`](Self::half_open): what follows the probes | all calls at once |
/// | [`stage_time`](Self::stage_time): how long a stage of a gradual half-open state lasts | a tenth of the open time |
/// | [`abandoned_after`](Self::abandoned_after): a call given up after this long is a failure | off |
/// | [`hold`](Self::hold): holds all calls for as long as a server asks one of them to wait, and at most for this | off |
/// | [`observe_only`](Self::observe_only): reject nothing, and report what it would have done | off |
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
///
/// // Twenty failures in a row, or half of the calls.
/// const BOTH: BreakerConfig = DB.failure_threshold(20);
/// assert!(BOTH.is_by_rate() && BOTH.is_by_streak());
///
/// // Open for 30 s, 1 min, 2 min and so on, while it does not recover.
/// const GROWING: BreakerConfig = DB.timeout_growth(2.0).max_timeout(Duration::from_secs(180));
/// let secs = [0, 1, 2, 3].map(|reopenings| GROWING.open_time(reopenings).0.as_secs());
/// assert_eq!(secs, [30, 60, 120, 180]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerConfig {
    // A literal from outside is first of all the use of a deprecated field, for the compiler.
    #[deprecated(note = "a method sets it: write `BreakerConfig::new().failure_threshold(8)`")]
    pub(crate) failure_threshold: u32,
    // Next to a rate, the default does not apply.
    pub(crate) is_threshold_set: bool,
    #[deprecated(note = "a method sets it: write `BreakerConfig::new().failure_rate(0.5)`")]
    pub(crate) failure_rate: Option<f64>,
    pub(crate) window: Window,
    pub(crate) minimum_calls: u32,
    pub(crate) slow_calls: Option<SlowCalls>,
    pub(crate) success_threshold: u32,
    #[deprecated(note = "a method sets it: write `BreakerConfig::new().timeout(…)`")]
    pub(crate) timeout: Duration,
    pub(crate) timeout_growth: f64,
    pub(crate) max_timeout: Option<Duration>,
    pub(crate) timeout_jitter: f64,
    pub(crate) half_open_requests: u32,
    pub(crate) half_open_for: Option<Duration>,
    pub(crate) half_open: HalfOpen,
    pub(crate) stage_time: Option<Duration>,
    pub(crate) abandoned_after: Option<Duration>,
    pub(crate) hold: Option<Duration>,
    pub(crate) observe_only: bool,
}

impl BreakerConfig {
    /// Creates a config with the defaults of the table above.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::BreakerConfig;
    /// let config = BreakerConfig::new();
    /// assert_eq!(config.get_failure_threshold(), 5);
    /// assert_eq!(config.get_timeout(), Duration::from_secs(30));
    /// ```
    pub const fn new() -> Self /* then `.failure_threshold(5)` and the like, no `build()` */ {
        Self {
            failure_threshold: 5,
            is_threshold_set: false,
            failure_rate: None,
            window: Window::Calls(100),
            minimum_calls: 10,
            slow_calls: None,
            success_threshold: 3,
            timeout: Duration::from_secs(30),
            timeout_growth: 1.0,
            max_timeout: None,
            timeout_jitter: 0.0,
            half_open_requests: 3,
            half_open_for: None,
            half_open: HalfOpen::Probes,
            stage_time: None,
            abandoned_after: None,
            hold: None,
            observe_only: false,
        }
    }

    /// Sets how many consecutive failures open the breaker. Default 5; at least 1.
    /// With a rate it has no default; if both are set, the one that is reached first opens it.
    ///
    /// ```
    /// # use retry_rules::BreakerConfig;
    /// const WARY: BreakerConfig = BreakerConfig::new().failure_threshold(2);
    /// assert!(WARY.is_by_streak());
    /// assert!(WARY.failure_threshold(0).validate().is_err());
    /// ```
    ///
    /// Each attempt counts: a single call with `attempts = 5` that fails opens the default breaker
    /// for all callers. For a dependency that many callers share, set a
    /// [`failure_rate`](Self::failure_rate) with [`minimum_calls`](Self::minimum_calls).
    pub const fn failure_threshold(mut self, failures: u32) -> Self {
        self.failure_threshold = failures;
        self.is_threshold_set = true;
        self
    }

    crate::accessors! {
        /// Opens when at least this share of the calls in the window failed; above 0, up to 1.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// const HALF: BreakerConfig = BreakerConfig::new().failure_rate(0.5);
        /// assert!(HALF.is_by_rate() && !HALF.is_by_streak());
        /// ```
        pub const fn failure_rate(self, rate: f64 /* `0.5` is half of the calls */) -> Self { failure_rate: Some(rate) }

        /// Measures rates over the last `calls` calls. The default, with 100.
        ///
        /// ```
        /// # use retry_rules::{BreakerConfig, Window};
        /// let config = BreakerConfig::new().failure_rate(0.5).window_calls(20);
        /// assert_eq!(config.get_window(), Window::Calls(20));
        /// ```
        pub const fn window_calls(self, calls: u32 /* a time: `window_time` */) -> Self { window: Window::Calls(calls) }

        /// Measures rates over the last `time`.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().failure_rate(0.5).window_time(Duration::from_secs(10));
        /// assert!(config.validate().is_ok());
        /// ```
        pub const fn window_time(self, time: Duration /* such as `Duration::from_secs(60)` */) -> Self { window: Window::Time(time) }

        /// Sets how many calls must be in the window before a rate counts. Default 10.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().failure_rate(0.5).minimum_calls(20);
        /// assert_eq!(config.get_minimum_calls(), 20);
        /// ```
        pub const fn minimum_calls(self, calls: u32) -> Self { minimum_calls: calls }
    }

    /// Opens when at least the share `rate` of the calls in the window took longer than
    /// `longer_than`.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::BreakerConfig;
    /// // Half of the calls took longer than 2 s.
    /// let config = BreakerConfig::new().slow_calls(Duration::from_secs(2), 0.5);
    /// assert!(config.validate().is_ok());
    /// ```
    #[rustfmt::skip] // rustc quotes this line
    pub const fn slow_calls(mut self, longer_than: Duration, rate: f64 /* `0.5` is half of the calls */) -> Self {
        self.slow_calls = Some(SlowCalls { longer_than, rate });
        self
    }

    /// Sets how long a call may take before it counts as slow.
    #[doc(hidden)]
    pub const fn slow_call(self, longer_than: Duration) -> Self {
        let rate = match self.slow_calls {
            Some(slow) => slow.rate,
            // Any valid share, so that no rule about shares is broken.
            None => 1.0,
        };
        self.slow_calls(longer_than, rate)
    }

    /// Sets the share of slow calls, above 0 and up to 1, that opens the breaker.
    #[doc(hidden)]
    pub const fn slow_rate(self, rate: f64) -> Self {
        let longer_than = match self.slow_calls {
            Some(slow) => slow.longer_than,
            None => Duration::MAX,
        };
        self.slow_calls(longer_than, rate)
    }

    crate::accessors! {
        /// Sets how many successful probes close the breaker. Default 3.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// assert_eq!(BreakerConfig::new().success_threshold(1).get_success_threshold(), 1);
        /// ```
        pub const fn success_threshold(self, successes: u32) -> Self { success_threshold: successes }

        /// Sets how long the breaker stays open before it lets probes through. Default 30 s.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().timeout(Duration::from_secs(10));
        /// assert_eq!(config.open_time(0).0, Duration::from_secs(10));
        /// ```
        pub const fn timeout(self, timeout: Duration /* such as `Duration::from_secs(30)` */) -> Self { timeout: timeout }

        /// Multiplies the open time by this factor each time a probe fails, up to
        /// `max_timeout`; closing resets it to `timeout`. At least 1 (default): it does not grow.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().timeout_growth(2.0);
        /// assert_eq!(config.open_time(1).0.as_secs(), 60);
        /// ```
        pub const fn timeout_growth(self, factor: f64) -> Self { timeout_growth: factor }

        /// Sets the longest open time, jitter included. Default 5 min, or `timeout` if
        /// that is longer.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().timeout_growth(2.0).max_timeout(Duration::from_secs(45));
        /// assert_eq!(config.open_time(9).1, Duration::from_secs(45));
        /// ```
        pub const fn max_timeout(self, timeout: Duration /* such as `Duration::from_secs(300)` */) -> Self { max_timeout: Some(timeout) }

        /// Extends the open time by up to this share at random, so that processes that
        /// opened together do not probe together. From 0 (default) to 1.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// let (shortest, longest) = BreakerConfig::new().timeout_jitter(0.5).open_time(0);
        /// assert_eq!((shortest.as_secs(), longest.as_secs()), (30, 45));
        /// ```
        pub const fn timeout_jitter(self, factor: f64) -> Self { timeout_jitter: factor }

        /// Sets how many probes may run at a time while half-open. Default 3.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// assert_eq!(BreakerConfig::new().half_open_requests(1).get_half_open_requests(), 1);
        /// ```
        pub const fn half_open_requests(self, requests: u32) -> Self { half_open_requests: requests }

        /// Sets the time after which a half-open breaker closes although fewer than
        /// `success_threshold` probes have succeeded: at least one has, and none has failed. For
        /// breakers that are seldom called. Default none; above 0.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().half_open_for(Duration::from_secs(300));
        /// assert_eq!(config.get_half_open_for(), Some(Duration::from_secs(300)));
        /// ```
        pub const fn half_open_for(self, time: Duration /* such as `Duration::from_secs(60)` */) -> Self { half_open_for: Some(time) }

        /// Sets what follows when enough probes have succeeded: all calls at once, or a share of
        /// them that grows. Default `probes`.
        ///
        /// ```
        /// use retry_rules::{BreakerConfig, HalfOpen};
        ///
        /// let config = BreakerConfig::new().failure_rate(0.5).half_open(HalfOpen::Gradual);
        /// assert!(config.validate().is_ok());
        /// ```
        pub const fn half_open(self, half_open: HalfOpen) -> Self { half_open: half_open }

        /// Sets how long each stage of a gradual half-open state lasts at least.
        /// Default a tenth of the open `timeout`; above 0.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::{BreakerConfig, HalfOpen};
        /// let config = BreakerConfig::new().half_open(HalfOpen::Gradual);
        /// assert_eq!(config.get_stage_time(), Duration::from_secs(3));
        /// let config = config.stage_time(Duration::from_secs(10));
        /// assert_eq!(config.get_stage_time(), Duration::from_secs(10));
        /// ```
        pub const fn stage_time(self, time: Duration /* such as `Duration::from_secs(60)` */) -> Self { stage_time: Some(time) }

        /// Counts a call as a failure if it was given up after at least this long: dropped, or cut
        /// off by a limit of the caller. Default: such calls say nothing, unless they are slow.
        ///
        /// For callers whose own limits end their calls to a server that hangs. Where it is set,
        /// each call reads the clock.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().abandoned_after(Duration::from_secs(1));
        /// assert_eq!(config.get_abandoned_after(), Some(Duration::from_secs(1)));
        /// ```
        pub const fn abandoned_after(self, time: Duration /* such as `Duration::from_secs(60)` */) -> Self { abandoned_after: Some(time) }

        /// Holds all calls for as long as a server asks one of them to wait, and at most for this
        /// long. Default: each call waits for its own server's wait only; above 0.
        ///
        /// Only the wait of a failure whose class contains `rate_limit` or `server_error` counts.
        /// While calls are held, each attempt is rejected, whatever the state. A rate limit that
        /// holds calls is neither a failure nor a success.
        ///
        /// ```
        /// # use core::time::Duration;
        /// # use retry_rules::BreakerConfig;
        /// let config = BreakerConfig::new().hold(Duration::from_secs(120));
        /// assert_eq!(config.get_hold(), Some(Duration::from_secs(120)));
        /// ```
        pub const fn hold(self, max: Duration /* such as `Duration::from_secs(60)` */) -> Self { hold: Some(max) }

        /// Sets whether the breaker rejects nothing.
        #[doc(hidden)]
        pub const fn with_observe_only(self, on: bool) -> Self { observe_only: on }

        /// Rejects nothing: measures, and reports what the breaker would have done. For the
        /// first weeks in production.
        ///
        /// ```
        /// # use retry_rules::BreakerConfig;
        /// const TRIAL: BreakerConfig = BreakerConfig::new().observe_only();
        /// assert!(TRIAL.is_observe_only());
        /// ```
        pub const fn observe_only(self) -> Self { observe_only: true }

        /// Returns the [`failure_threshold`](Self::failure_threshold).
        pub const fn get_failure_threshold(&self) -> u32 { failure_threshold }

        /// Returns the [`failure_rate`](Self::failure_rate), if it is set.
        pub const fn get_failure_rate(&self) -> Option<f64> { failure_rate }

        /// Returns what the rates are measured over.
        pub const fn get_window(&self) -> Window { window }

        /// Returns the [`minimum_calls`](Self::minimum_calls).
        pub const fn get_minimum_calls(&self) -> u32 { minimum_calls }

        /// Returns the [`slow_calls`](Self::slow_calls), if they are set.
        pub const fn get_slow_calls(&self) -> Option<SlowCalls> { slow_calls }

        /// Returns the [`success_threshold`](Self::success_threshold).
        pub const fn get_success_threshold(&self) -> u32 { success_threshold }

        /// Returns the [`timeout`](Self::timeout).
        pub const fn get_timeout(&self) -> Duration { timeout }

        /// Returns the [`timeout_growth`](Self::timeout_growth).
        pub const fn get_timeout_growth(&self) -> f64 { timeout_growth }
    }

    /// Returns the [`max_timeout`](Self::max_timeout).
    pub const fn get_max_timeout(&self) -> Duration {
        const DEFAULT: Duration = Duration::from_secs(300);

        match self.max_timeout {
            Some(timeout) => timeout,
            None if less(DEFAULT, self.timeout) => self.timeout,
            None => DEFAULT,
        }
    }

    crate::accessors! {
        /// Returns the [`timeout_jitter`](Self::timeout_jitter).
        pub const fn get_timeout_jitter(&self) -> f64 { timeout_jitter }

        /// Returns the [`half_open_requests`](Self::half_open_requests).
        pub const fn get_half_open_requests(&self) -> u32 { half_open_requests }

        /// Returns the time after which a half-open breaker closes with fewer successes, if there
        /// is one.
        pub const fn get_half_open_for(&self) -> Option<Duration> { half_open_for }

        /// Returns what follows when enough probes have succeeded.
        pub const fn get_half_open(&self) -> HalfOpen { half_open }
    }

    /// Returns how long each stage of a gradual half-open state lasts at least.
    pub const fn get_stage_time(&self) -> Duration {
        match self.stage_time {
            Some(time) => time,
            None => scale(self.timeout, 0.1),
        }
    }

    crate::accessors! {
        /// Returns the [`abandoned_after`](Self::abandoned_after), if it is set.
        pub const fn get_abandoned_after(&self) -> Option<Duration> { abandoned_after }

        /// Returns the longest [`hold`](Self::hold), if it is set.
        pub const fn get_hold(&self) -> Option<Duration> { hold }

        /// Returns `true` if it rejects nothing: [`observe_only`](Self::observe_only).
        pub const fn is_observe_only(&self) -> bool { observe_only }
    }

    /// Returns `true` if a rate opens the breaker.
    pub const fn is_by_rate(&self) -> bool {
        self.failure_rate.is_some() || self.slow_calls.is_some()
    }

    /// Returns `true` if consecutive failures open the breaker: if no rate is set, or if
    /// [`failure_threshold`](Self::failure_threshold) is set as well.
    pub const fn is_by_streak(&self) -> bool {
        self.is_threshold_set || !self.is_by_rate()
    }

    pub(crate) const fn grows(&self) -> bool {
        self.timeout_growth > 1.0
    }

    /// Returns the shortest and longest time that the breaker stays open, after it has
    /// reopened `reopenings` times since it was last closed.
    ///
    /// If the time grows, `max_timeout` limits it including jitter: once fully grown, it is spread
    /// below `max_timeout`.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::BreakerConfig;
    ///
    /// const DB: BreakerConfig = BreakerConfig::new().timeout_jitter(0.5).timeout_growth(2.0);
    /// let secs = |from, to| (Duration::from_secs(from), Duration::from_secs(to));
    /// assert_eq!(DB.open_time(0), secs(30, 45));
    /// assert_eq!(DB.open_time(9), secs(200, 300));
    /// ```
    pub const fn open_time(&self, reopenings: u32) -> (Duration, Duration) {
        let spread = 1.0 + self.timeout_jitter;
        if !self.grows() {
            return (self.timeout, scale(self.timeout, spread));
        }
        let grown = scale(self.timeout, power(self.timeout_growth, reopenings));
        let longest = min(scale(grown, spread), self.get_max_timeout());
        let below = scale(longest, 1.0 / spread);
        let shortest = if less(below, self.timeout) { self.timeout } else { min(grown, below) };
        (min(shortest, longest), longest)
    }
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Names that settings have in other libraries: aliases with a warning that says what to write.
macro_rules! settings_elsewhere {
    ($($($name:ident)|+ = $here:ident($Value:ty), $write:literal;)*) => {
        impl BreakerConfig {$($(
            #[doc(hidden)]
            #[deprecated(note = $write)]
            pub const fn $name(self, value: $Value) -> Self {
                self.$here(value)
            }
        )+)*}
    };
}

settings_elsewhere! {
    max_failures | consecutive_failures = failure_threshold(u32), "write `failure_threshold`";
    sliding_window_size = window_calls(u32), "write `window_calls`";
    sampling_duration | window = window_time(Duration), "write `window_time`";
    minimum_number_of_calls | minimum_throughput = minimum_calls(u32), "write `minimum_calls`";
    break_duration | cooldown | open_timeout | recovery_timeout | reset_timeout | sleep_window
        | wait_duration_in_open_state = timeout(Duration), "write `timeout`";
    half_open_max_calls | permitted_number_of_calls_in_half_open_state
        = half_open_requests(u32), "write `half_open_requests`";
}
