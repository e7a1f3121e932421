#![doc = include_str!("testing.md")]

use core::future::Future;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use core::any::Any;
use retry_rules::{Attempts, suggest};

use crate::base::sync::Arc;
use crate::call::attempt::Attempt;
use crate::protect::as_breaker::PerTest as _;
use crate::protect::breaker::CircuitBreaker;
use crate::protect::quota::RetryQuota;
use crate::site::Site;
use crate::site::registry::sites;
use crate::test_hooks::inject::{FailurePlan, PlannedFailure};
use crate::test_hooks::{EnteredHooks, TestHooks};

pub use crate::test_hooks::{AttemptOutcome, AttemptRecord};

/// Starts a test: until the guard is dropped, calls on this thread obey what the test sets up.
///
/// If started inside another test, that one is suspended until this one ends.
///
/// ```
/// use retry_runtime::{retry, testing};
///
/// #[retry(attempts = 3, name = "doc.start")]
/// fn fetch() -> Result<u32, String> {
///     Ok(7)
/// }
///
/// let retries = testing::start();
/// assert_eq!(fetch(), Ok(7));
/// assert_eq!(retries.attempts("doc.start").len(), 1);
/// ```
pub fn start() -> Testing {
    Testing { entered: EnteredHooks::new(Arc::default()) }
}

/// Creates the context of attempt `number` of `attempts`, for a test of a function that takes one.
///
/// ```
/// use retry_runtime::{Attempt, testing};
///
/// fn timeout_secs(cx: &Attempt) -> u32 {
///     if cx.is_last() { 30 } else { 5 * cx.number() }
/// }
///
/// assert_eq!(timeout_secs(&testing::attempt(2, 3)), 10);
/// assert_eq!(timeout_secs(&testing::attempt(3, 3)), 30);
/// ```
pub fn attempt(number: u32, attempts: u32) -> Attempt {
    Attempt::new(number, Attempts::Limited(attempts), None, Duration::ZERO)
}

/// A running test, created with [`start`]. The [module](self) explains how to use it.
///
/// It stays on the thread that started it. To call tested code from other threads, wrap it
/// with [`scope`](Self::scope) or [`scope_sync`](Self::scope_sync).
#[derive(Debug)]
#[must_use = "the test ends when this guard is dropped: write `let retries = start();`, not `let _ \
              = start();`"]
pub struct Testing {
    entered: EnteredHooks,
}

impl Testing {
    /// Makes the next `times` attempts of the annotated function of this name fail with
    /// what `error` returns, without running its body. Everything else happens as if the
    /// body had failed: matchers, breaker, waits, events.
    ///
    /// Failures planned for one name follow one another. `error` must return exactly the error type
    /// of the function's *body*: the function's own, or the inner `E` if it returns `RetryError<E>`
    /// or has a `map_error` of `RetryError<E>`. A `RetryError<E>` stands for its last error.
    ///
    /// ```
    /// use retry_runtime::{retry, testing};
    /// use std::io::{Error, ErrorKind};
    ///
    /// #[retry(attempts = 3, retry_on = [network], name = "doc.fail")]
    /// fn fetch() -> Result<u32, Error> {
    ///     Ok(7)
    /// }
    ///
    /// let retries = testing::start();
    /// retries.skip_waits();
    /// retries.fail("doc.fail", 2, || Error::from(ErrorKind::ConnectionRefused));
    /// assert_eq!(fetch().unwrap(), 7);
    /// assert_eq!(retries.attempts("doc.fail").len(), 3);
    /// ```
    ///
    /// # Panics
    /// If no annotated function has this name, or if all its further attempts fail already
    /// ([`fail_always`](Self::fail_always)). At its end, the test panics if some of the failures were
    /// not used. The attempt itself panics if its error has another type, or if it cannot be made to
    /// fail: see [eligible functions](self#eligible-functions).
    #[track_caller]
    pub fn fail<E: Any>(
        &self,
        name: &str,
        times: u32,
        error: impl Fn() -> E + Send + Sync + 'static,
    ) -> &Self {
        self.plan(name, PlannedFailure::from_fn(error), Some(times))
    }

    /// Makes all further attempts of the annotated function of this name fail, as
    /// [`fail`](Self::fail) does.
    ///
    /// ```
    /// # use retry_runtime::{retry, testing};
    /// #[retry(attempts = 3, name = "doc.fail_always")]
    /// fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let retries = testing::start();
    /// retries.skip_waits();
    /// retries.fail_always("doc.fail_always", || "no".to_owned());
    /// assert_eq!(fetch(), Err("no".to_owned()));
    /// ```
    ///
    /// # Panics
    /// The same as for [`fail`](Self::fail).
    #[track_caller]
    pub fn fail_always<E: Any>(
        &self,
        name: &str,
        error: impl Fn() -> E + Send + Sync + 'static,
    ) -> &Self {
        self.plan(name, PlannedFailure::from_fn(error), None)
    }

    #[track_caller]
    fn plan(&self, name: &str, failure: PlannedFailure, times: Option<u32>) -> &Self {
        let planned_at = Location::caller();
        let plan = FailurePlan { failure, times, planned_at };
        if let Err(before) = self.hooks().plan(known(name).name(), plan) {
            panic!(
                "all further attempts of `{name}` fail already, as planned at {before}: plan other \
                 failures before those"
            )
        }
        self
    }
}

/// Panics if planned failures were not used, unless the test has failed already.
impl Drop for Testing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if let Some(unused) = self.hooks().unused() {
            panic!(
                "planned failures were not used, unless the test returned an error before\n{unused}"
            );
        }
    }
}

impl Testing {
    fn hooks(&self) -> &Arc<TestHooks> {
        self.entered.hooks()
    }

    /// Draws all jitter of this test from `seed`: the same seed gives the same waits, as long as
    /// failures happen in the same order. Calling it again starts over.
    ///
    /// The values may change with the version of this library, and with the platform.
    ///
    /// ```
    /// use retry_runtime::{retry, testing};
    ///
    /// #[retry(attempts = 4, jitter = full, name = "doc.seed")]
    /// fn fail() -> Result<(), String> {
    ///     Err("no".to_owned())
    /// }
    ///
    /// let waits = || {
    ///     let retries = testing::start();
    ///     retries.seed(42).skip_waits();
    ///     let _ = fail();
    ///     retries.waits("doc.seed")
    /// };
    /// assert_eq!(waits(), waits());
    /// ```
    pub fn seed(&self, seed: u64) -> &Self {
        self.hooks().seed(seed);
        self
    }

    /// Makes waits end at once, in async and other functions.
    ///
    /// Otherwise, skipped waits are treated as if they had been slept: they are recorded, and count
    /// against the budget and the deadline of their call. But the clock does not move: anything
    /// else that depends on time, such as an open breaker, needs tokio's paused clock instead.
    ///
    /// ```
    /// use retry_runtime::{retry, testing};
    /// use std::time::Duration;
    ///
    /// #[retry(attempts = 3, name = "doc.skip_waits")]
    /// fn fail() -> Result<(), String> {
    ///     Err("no".to_owned())
    /// }
    ///
    /// let retries = testing::start();
    /// retries.skip_waits();
    /// let _ = fail();
    /// assert_eq!(retries.waits("doc.skip_waits"), [Duration::from_secs(1), Duration::from_secs(2)]);
    /// ```
    pub fn skip_waits(&self) -> &Self {
        self.hooks().skip_waits();
        self
    }

    /// Returns the outcomes of the attempts of the function or retrier of this name, in the order
    /// in which they ended.
    ///
    /// An attempt that was running when its call was cancelled is missing. Concurrent calls share
    /// one list.
    ///
    /// ```
    /// use retry_runtime::testing::{self, AttemptOutcome};
    /// use retry_runtime::{Policy, Retrier};
    /// use std::time::Duration;
    ///
    /// let retries = testing::start();
    /// retries.skip_waits();
    /// let mut calls = 0;
    /// let result = Retrier::new(Policy::new()).name("doc.attempts").run_sync(|| {
    ///     calls += 1;
    ///     if calls < 2 { Err("busy") } else { Ok(calls) }
    /// });
    /// assert_eq!(result.unwrap(), 2);
    ///
    /// let attempts = retries.attempts("doc.attempts");
    /// let (wait, error) = (Duration::from_secs(1), "busy".to_owned());
    /// assert_eq!(attempts[0].became, AttemptOutcome::Retried { wait, error });
    /// assert_eq!(attempts[1].became, AttemptOutcome::Succeeded);
    /// ```
    ///
    /// # Panics
    /// If no attempt of this name was made, and the name is only the last part of an annotated
    /// function's name, or resembles one: write the full name, as in `shop::billing::fetch`. Any
    /// other name may belong to a retrier that was not called.
    #[track_caller]
    pub fn attempts(&self, name: &str) -> Vec<AttemptRecord> {
        let attempts = self.hooks().attempts(name);
        if let (true, None, Some(meant)) = (attempts.is_empty(), site(name), meant(name)) {
            panic!("nothing is named `{name}`: did you mean `{meant}`?");
        }
        attempts
    }

    /// Returns how many calls of this name have ended.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, testing};
    /// let retries = testing::start();
    /// let retrier = Retrier::new(Policy::new()).name("doc.calls");
    /// let _ = retrier.run_sync(|| Ok::<_, String>(7));
    /// assert_eq!(retries.calls("doc.calls"), 1);
    /// ```
    ///
    /// # Panics
    /// The same as for [`attempts`](Self::attempts).
    #[track_caller]
    pub fn calls(&self, name: &str) -> usize {
        self.attempts(name).iter().filter(|attempt| attempt.is_last()).count()
    }

    /// Returns the waits between the attempts of this name, slept or skipped.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, testing};
    /// # use std::time::Duration;
    /// let retries = testing::start();
    /// retries.skip_waits();
    /// let _ = Retrier::new(Policy::new()).name("doc.waits").run_sync(|| Err::<(), _>("no"));
    /// assert_eq!(retries.waits("doc.waits"), [Duration::from_secs(1), Duration::from_secs(2)]);
    /// ```
    ///
    /// # Panics
    /// The same as for [`attempts`](Self::attempts).
    #[track_caller]
    pub fn waits(&self, name: &str) -> Vec<Duration> {
        self.attempts(name).iter().filter_map(AttemptRecord::wait).collect()
    }

    /// Returns this test's own instance of a breaker that the whole program shares: calls
    /// in this test use it instead.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, State, retry, testing};
    ///
    /// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    ///
    /// #[retry(breaker = DB)]
    /// fn query() -> Result<u32, RetryError<String>> {
    ///     Ok(7)
    /// }
    ///
    /// let retries = testing::start();
    /// retries.breaker(&DB).force_open();
    /// assert!(query().is_err());
    /// assert_eq!(DB.state(), State::Closed, "for the rest of the program");
    /// ```
    pub fn breaker(&self, shared: &'static CircuitBreaker) -> &'static CircuitBreaker {
        shared.of_test(self.hooks())
    }

    /// Returns this test's own instance of a quota that the whole program shares.
    ///
    /// ```
    /// use retry_runtime::{QuotaConfig, RetryQuota, retry, testing};
    ///
    /// static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
    ///
    /// #[retry(quota = OUTBOUND, attempts = 3)]
    /// fn fail() -> Result<(), String> {
    ///     Err("no".to_owned())
    /// }
    ///
    /// let retries = testing::start();
    /// retries.skip_waits();
    /// let _ = fail();
    /// assert_eq!(retries.quota(&OUTBOUND).available(), 490);
    /// assert_eq!(OUTBOUND.available(), 500, "for the rest of the program");
    /// ```
    pub fn quota(&self, shared: &'static RetryQuota) -> &'static RetryQuota {
        shared.of_test(self.hooks())
    }

    /// Carries this test along with a future, to whatever thread polls it: wrap what you
    /// pass to `tokio::spawn` on a multi-threaded runtime.
    ///
    /// ```
    /// use retry_runtime::{retry, testing};
    ///
    /// #[retry(attempts = 3, name = "doc.scope")]
    /// async fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// # #[tokio::main(flavor = "multi_thread", worker_threads = 2)]
    /// # async fn main() {
    /// let retries = testing::start();
    /// let task = tokio::spawn(retries.scope(fetch()));
    /// assert_eq!(task.await.unwrap(), Ok(7));
    /// assert_eq!(retries.calls("doc.scope"), 1);
    /// # }
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped { future, hooks: Arc::clone(self.hooks()) }
    }

    /// Carries this test along with a closure, to whatever thread calls it: wrap what you pass to
    /// `std::thread::spawn` or `tokio::task::spawn_blocking`.
    ///
    /// ```
    /// use retry_runtime::{retry, testing};
    ///
    /// #[retry(attempts = 3, name = "doc.scope_sync")]
    /// fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let retries = testing::start();
    /// let thread = std::thread::spawn(retries.scope_sync(fetch));
    /// assert_eq!(thread.join().unwrap(), Ok(7));
    /// assert_eq!(retries.calls("doc.scope_sync"), 1);
    /// ```
    pub fn scope_sync<R, F: FnOnce() -> R>(&self, f: F) -> impl FnOnce() -> R + use<R, F> {
        let hooks = Arc::clone(self.hooks());
        move || {
            let _entered = EnteredHooks::new(hooks);
            f()
        }
    }
}

/// Finds the annotated function of this name.
fn site(name: &str) -> Option<&'static Site> {
    sites().into_iter().find(|site| site.name() == name)
}

/// Finds the annotated function that a wrong name stands for: its name ends in `word`, or is similar.
fn meant(word: &str) -> Option<&'static str> {
    let names = || sites().into_iter().map(Site::name);
    let ends_so = |name: &&str| name.rsplit_once("::").is_some_and(|(_, last)| last == word);
    names().find(ends_so).or_else(|| suggest::nearest(word, names()))
}

/// Like [`site`], or panics with the names that exist.
#[track_caller]
fn known(name: &str) -> &'static Site {
    site(name).unwrap_or_else(|| {
        let names: Vec<&str> = sites().into_iter().map(Site::name).collect();
        let instead = suggest::instead(meant(name), &names, "`retry_runtime::sites()`");
        panic!(
            "no function with #[retry] that is linked into this program is named `{name}`{instead}"
        )
    })
}

pin_project_lite::pin_project! {
    /// A future that carries a test along, created with [`Testing::scope`].
    #[derive(Debug)]
    #[must_use = "a future does nothing until it is awaited"]
    pub struct Scoped<F> {
        #[pin]
        future: F,
        hooks: Arc<TestHooks>,
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = EnteredHooks::new(Arc::clone(this.hooks));
        this.future.poll(cx)
    }
}
