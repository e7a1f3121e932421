//! Waits, time limits and breakers on executors other than tokio's. Their clocks cannot be paused, so
//! waits are short, and only a least time is checked.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Classify, Interrupted, Policy, Retrier, RetryError, retry,
    retrying,
};

/// Runs a test on smol, on the executor of futures, and on one that polls without any help.
fn on_each(test: impl AsyncFn()) {
    smol::block_on(test());
    futures::executor::block_on(test());
    let (sender, woken) = mpsc::channel();
    struct Thread(mpsc::Sender<()>);
    impl std::task::Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.0.send(()).ok();
        }
    }
    let waker = Arc::new(Thread(sender)).into();
    let mut task = std::pin::pin!(test());
    while task.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending() {
        woken.recv().unwrap();
    }
}

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

#[test]
fn a_call_waits_between_its_attempts() {
    #[retry(attempts = 3, backoff = fixed, initial_delay = "20ms")]
    async fn fetch(calls: &mut u32) -> io::Result<u32> {
        *calls += 1;
        if *calls < 3 { Err(refused()) } else { Ok(*calls) }
    }
    on_each(async || {
        let began = Instant::now();
        assert_eq!(fetch(&mut 0).await.unwrap(), 3);
        assert!(began.elapsed() >= Duration::from_millis(40));
    });
}

#[test]
fn a_wait_that_is_cancelled_counts_as_far_as_it_lasted() {
    const HOUR: Duration = Duration::from_secs(3_600);

    #[retry(initial_delay = HOUR, max_delay = HOUR, budget = unlimited, cancel = stop())]
    async fn stopped() -> Result<(), RetryError<io::Error>> {
        Err(refused())
    }
    async fn stop() {
        smol::Timer::after(Duration::from_millis(20)).await;
    }
    on_each(async || {
        let waited = stopped().await.unwrap_err().waited();
        assert!(!waited.is_zero() && waited < HOUR / 2, "{waited:?}");
    });
}

#[test]
fn attempts_and_calls_are_cut_off() {
    #[retry(attempts = 2, initial_delay = "1ms", timeout = "10ms")]
    async fn hangs(calls: &AtomicU32) -> io::Result<()> {
        calls.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
    #[retry(attempts = unlimited, initial_delay = "1ms", deadline = "20ms")]
    async fn ends() -> Result<(), RetryError<io::Error>> {
        std::future::pending().await
    }
    on_each(async || {
        let calls = AtomicU32::new(0);
        assert_eq!(hangs(&calls).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(calls.into_inner(), 2);
        let error = ends().await.unwrap_err();
        assert!(matches!(error.interrupted(), Some(Interrupted::Deadline { .. })), "{error:?}");
    });
}

#[test]
fn an_open_breaker_is_waited_for() {
    on_each(async || {
        let config = BreakerConfig::new().failure_threshold(1).timeout(Duration::from_millis(20));
        let breaker = CircuitBreaker::new("any", config);
        breaker.try_acquire().unwrap().failure();
        let call = retrying!(
            name = "any.waits",
            attempts = 5,
            initial_delay = "1ms",
            breaker = &breaker,
            when_open = wait,
            async { Ok::<u32, io::Error>(7) }
        );
        assert_eq!(call.await.unwrap(), 7);
    });
}

#[test]
fn a_retrier_waits() {
    on_each(async || {
        let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(10));
        let began = Instant::now();
        let error = Retrier::new(policy).run(async || Err::<(), _>("busy")).await.unwrap_err();
        assert_eq!(error.attempts(), 2);
        assert!(began.elapsed() >= Duration::from_millis(10));
    });
}

#[test]
fn a_loop_without_waits_lets_other_tasks_run() {
    #[retry(attempts = unlimited, budget = unlimited, backoff = fixed, initial_delay = "0s")]
    async fn until(stop: &AtomicBool) -> Result<(), &'static str> {
        if stop.load(Ordering::Relaxed) { Ok(()) } else { Err("not yet") }
    }
    let stop = AtomicBool::new(false);
    let executor = smol::LocalExecutor::new();
    smol::block_on(executor.run(async {
        let call = executor.spawn(until(&stop));
        let other = executor.spawn(async { stop.store(true, Ordering::Relaxed) });
        other.await;
        call.await.unwrap();
    }));
}

#[tokio::test(start_paused = true)]
async fn inside_tokio_its_clock_is_used() {
    #[retry(attempts = 2, initial_delay = "1h", max_delay = "1h", timeout = "30s")]
    async fn hangs() -> io::Result<()> {
        std::future::pending().await
    }
    let began = tokio::time::Instant::now();
    hangs().await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(3_600 + 60));
}

#[test]
fn a_tokio_runtime_without_a_timer_waits_too() {
    #[retry(attempts = 2, initial_delay = "1ms", timeout = "1s")]
    async fn fetch() -> io::Result<()> {
        Err(refused())
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(fetch()).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_slow_attempt_is_hedged() {
    #[retry(hedge = "10ms", context = cx)]
    async fn ask() -> io::Result<u32> {
        if cx.hedge() == 0 {
            std::future::pending::<()>().await;
        }
        Ok(cx.hedge())
    }
    on_each(async || {
        let began = Instant::now();
        assert_eq!(ask().await.unwrap(), 1);
        assert!(began.elapsed() >= Duration::from_millis(10));
    });
}

/// Without the feature `http`, no type but such a one knows a wait.
#[test]
fn the_wait_of_a_type_that_classifies_itself_is_obeyed_inside_another_error() {
    #[derive(Debug, Classify)]
    #[classify(rate_limit, retry_after = wait)]
    struct Busy {
        wait: Duration,
    }
    impl std::fmt::Display for Busy {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("busy")
        }
    }
    impl std::error::Error for Busy {}

    #[retry(attempts = 2, initial_delay = "1ms")]
    async fn fetch() -> Result<(), RetryError<io::Error>> {
        Err(io::Error::other(Busy { wait: Duration::from_millis(30) }).into())
    }
    on_each(async || {
        assert_eq!(fetch().await.unwrap_err().waited(), Duration::from_millis(30));
    });
}

/// Without the feature `sites`, which this workspace does not enable: a function costs the compiler
/// about twice as much with it.
#[test]
#[cfg(target_os = "linux")]
fn a_function_is_not_registered_by_default() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    // In two parts, so that this test does not contain the name.
    let has = |array: &str| {
        let section = ["linkme_RETRY_", array].concat();
        program.windows(section.len()).any(|bytes| bytes == section.as_bytes())
    };
    assert!(has("CLASSIFIERS_0_1"), "the section of classified types, which is always there");
    assert!(!has("SITES_0_1"));
}
