//! [`Attempt`]: what a function's body can find out about the attempt it runs in.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;

use retry_rules::Attempts;

/// The attempt that is running, as the body sees it: `context = cx`, or
/// [`Retrier::run_cx`](crate::Retrier::run_cx).
///
/// ```
/// use retry_runtime::retry;
///
/// #[retry(attempts = 3, context = cx)]
/// async fn fetch() -> Result<u32, String> {
///     if cx.is_last() {
///         return Ok(cx.number());
///     }
///     Err("not yet".to_owned())
/// }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// assert_eq!(fetch().await, Ok(3));
/// # }
/// ```
#[derive(Debug)]
pub struct Attempt {
    number: u32,
    hedge: u32,
    attempts: Attempts,
    last_delay: Option<Duration>,
    waited: Duration,
    // The ruling: nanoseconds, `NO_RULING` or `GIVE_UP`.
    ruling: AtomicU64,
    was_reset: AtomicBool,
}

/// The ruling of an attempt on its own failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    GiveUp,
    RetryAfter(Duration),
}

const NO_RULING: u64 = u64::MAX;
const GIVE_UP: u64 = u64::MAX - 1;

impl Attempt {
    pub(crate) const fn new(
        number: u32,
        attempts: Attempts,
        last_delay: Option<Duration>,
        waited: Duration,
    ) -> Self {
        Self {
            number,
            hedge: 0,
            attempts,
            last_delay,
            waited,
            ruling: AtomicU64::new(NO_RULING),
            was_reset: AtomicBool::new(false),
        }
    }

    /// The context of a hedge that joins this attempt.
    pub(crate) const fn hedged(&self, hedge: u32) -> Self {
        let attempt = Self::new(self.number, self.attempts, self.last_delay, self.waited);
        Self { hedge, ..attempt }
    }

    /// Returns whether its failure counts as the first one.
    pub(crate) fn was_reset(&self) -> bool {
        self.was_reset.load(Ordering::Relaxed)
    }

    pub(crate) fn ruling(&self) -> Option<Ruling> {
        match self.ruling.load(Ordering::Relaxed) {
            NO_RULING => None,
            GIVE_UP => Some(Ruling::GiveUp),
            nanos => Some(Ruling::RetryAfter(Duration::from_nanos(nanos))),
        }
    }

    retry_rules::accessors! {
        /// Returns the number of this attempt; the first is 1.
        ///
        /// ```
        /// # use retry_runtime::retry;
        /// #[retry(context = cx)]
        /// async fn fetch() -> Result<u32, &'static str> {
        ///     if cx.number() < 3 { Err("not yet") } else { Ok(cx.number()) }
        /// }
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// assert_eq!(fetch().await, Ok(3));
        /// # }
        /// ```
        pub fn number(&self) -> u32 { number }

        /// Returns the number of this hedge, or 0 for the attempt that hedges join.
        ///
        /// ```
        /// use std::time::Duration;
        /// use retry_runtime::retry;
        ///
        /// /// Asks another replica if the first one does not answer.
        /// #[retry(hedge = "200ms", context = cx)]
        /// async fn ask(replicas: &[&'static str]) -> Result<&'static str, String> {
        ///     let replica = replicas[cx.hedge() as usize % replicas.len()];
        ///     if replica == "slow" {
        ///         tokio::time::sleep(Duration::from_secs(60)).await;
        ///     }
        ///     Ok(replica)
        /// }
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// assert_eq!(ask(&["slow", "quick"]).await.unwrap(), "quick");
        /// # }
        /// ```
        pub fn hedge(&self) -> u32 { hedge }

        /// Returns the wait before this attempt, or `None` for the first.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_runtime::retry;
        /// #[retry(context = cx)]
        /// async fn fetch() -> Result<Option<Duration>, &'static str> {
        ///     if cx.number() < 3 { Err("not yet") } else { Ok(cx.last_delay()) }
        /// }
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// assert_eq!(fetch().await, Ok(Some(Duration::from_secs(2))));
        /// # }
        /// ```
        pub fn last_delay(&self) -> Option<Duration> { last_delay }

        /// Returns the sum of the waits so far.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_runtime::retry;
        /// #[retry(context = cx)]
        /// async fn fetch() -> Result<Duration, &'static str> {
        ///     if cx.number() < 3 { Err("not yet") } else { Ok(cx.waited()) }
        /// }
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// assert_eq!(fetch().await, Ok(Duration::from_secs(3)));
        /// # }
        /// ```
        pub fn waited(&self) -> Duration { waited }
    }

    /// Returns `true` if the policy allows no attempt after this one. The budget, the
    /// deadline, the quota or the breaker may end a call earlier.
    ///
    /// ```
    /// # use retry_runtime::retry;
    /// #[retry(attempts = 3, context = cx)]
    /// async fn from_replica_or_primary() -> Result<&'static str, &'static str> {
    ///     if cx.is_last() { Ok("primary") } else { Err("replica is behind") }
    /// }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// assert_eq!(from_replica_or_primary().await, Ok("primary"));
    /// # }
    /// ```
    pub fn is_last(&self) -> bool {
        matches!(self.attempts, Attempts::Limited(attempts) if self.number >= attempts)
    }

    /// Makes a failure of this attempt end the call as not retryable, whatever the matchers say.
    /// Call it where the error is raised; the last ruling counts.
    ///
    /// ```
    /// use retry_runtime::{Attempt, retry};
    ///
    /// fn check(status: u16, cx: &Attempt) -> Result<(), String> {
    ///     if status == 401 {
    ///         cx.give_up();
    ///     }
    ///     Err(format!("status {status}"))
    /// }
    ///
    /// #[retry(attempts = 5, context = cx)]
    /// async fn login(calls: &mut u32) -> Result<(), String> {
    ///     *calls += 1;
    ///     check(401, cx)
    /// }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut calls = 0;
    /// assert!(login(&mut calls).await.is_err());
    /// assert_eq!(calls, 1);
    /// # }
    /// ```
    pub fn give_up(&self) {
        self.ruling.store(GIVE_UP, Ordering::Relaxed);
    }

    /// Makes a failure of this attempt be retried after `wait`, whatever matchers and hints say.
    /// Like a server's hint, the wait is not capped at `max_delay` and is only jittered upwards;
    /// unlike one, it is not bounded by `max_retry_after`. The curve replaces a wait of zero if
    /// nothing but a `budget` bounds the call. Attempts, budget, deadline, quota and
    /// breaker may still end the call. Call it where the error is raised; the last ruling counts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::retry;
    ///
    /// #[retry(context = cx)]
    /// async fn claim() -> Result<u32, String> {
    ///     if cx.number() == 1 {
    ///         cx.retry_after(Duration::from_secs(7));
    ///         return Err("not before seven".to_owned());
    ///     }
    ///     Ok(cx.last_delay().map_or(0, |delay| delay.as_secs() as u32))
    /// }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// assert_eq!(claim().await, Ok(7));
    /// # }
    /// ```
    pub fn retry_after(&self, wait: Duration) {
        self.ruling.store(nanos(wait).min(GIVE_UP - 1), Ordering::Relaxed);
    }

    /// Makes a failure of this attempt count as the first one: attempts, budget and curve start
    /// again. For loops that reconnect: after a session that worked, a failure is unrelated to
    /// the ones before it.
    ///
    /// `deadline` and `max_elapsed` go on, and [`number`](Self::number) and the attempts of a
    /// [`RetryError`](crate::RetryError) go on counting.
    ///
    /// ```
    /// use retry_runtime::retry;
    ///
    /// /// Gives up when two attempts in a row do not get through.
    /// #[retry(attempts = 2, context = cx)]
    /// async fn listen(sessions: &mut Vec<bool>) -> Result<(), &'static str> {
    ///     let has_connected = sessions.pop().unwrap_or(false);
    ///     if has_connected {
    ///         cx.reset();
    ///     }
    ///     Err("disconnected")
    /// }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut sessions = vec![false, true, true, false];
    /// assert!(listen(&mut sessions).await.is_err());
    /// assert_eq!(sessions.len(), 0, "each good session allows one more failure");
    /// # }
    /// ```
    pub fn reset(&self) {
        self.was_reset.store(true, Ordering::Relaxed);
    }
}

fn nanos(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)
}
