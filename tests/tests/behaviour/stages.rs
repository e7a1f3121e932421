//! `half_open = gradual`: calls that wait, and calls that fail, while the breaker is in a stage.

use std::future::Future;
use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, HalfOpen, Policy, Reason, Retrier, RetryError, State, retry,
    retrying,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::{Layer as _, Service as _, service_fn};

use crate::support::until_refused;

const S: Duration = Duration::from_secs(1);

const GRADUAL: BreakerConfig = BreakerConfig::new()
    .failure_threshold(5)
    .success_threshold(1)
    .timeout(Duration::from_secs(30))
    .half_open(HalfOpen::Gradual);

/// A breaker in its first stage, which no call has joined yet.
fn recovering(config: BreakerConfig) -> Arc<CircuitBreaker> {
    let breaker = CircuitBreaker::named("stages", config);
    recover(&breaker);
    Arc::new(breaker)
}

/// Brings a breaker to its first stage.
fn recover(breaker: &CircuitBreaker) {
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    breaker.try_acquire().expect("a probe").success();
    assert_eq!(breaker.state(), State::HalfOpen);
}

#[test]
fn a_snapshot_in_a_stage_shows_the_failures_in_it() {
    let breaker = recovering(GRADUAL.failure_threshold(2).timeout(Duration::from_nanos(1)));
    let counts = || {
        let snapshot = breaker.snapshot();
        (snapshot.consecutive_failures, snapshot.calls, snapshot.failures)
    };
    assert_eq!(counts(), (0, 0, 0));
    let mut admitted = std::iter::repeat_with(|| breaker.try_acquire()).flatten();
    admitted.next().expect("the first call of a stage").failure();
    assert_eq!(counts(), (1, 0, 0), "consecutive failures decide, and no window");
    admitted.next().expect("a call of the stage").failure();
    assert_eq!((breaker.state(), counts()), (State::Open, (2, 0, 0)));
    breaker.reset();
    assert_eq!(counts(), (0, 0, 0));
    breaker.try_acquire().expect("closed").failure();
    assert_eq!(counts(), (1, 0, 0));
}

/// A server that needs some time for an answer, once it works.
struct Server {
    takes: Duration,
    works: AtomicBool,
    calls: AtomicU32,
}

impl Server {
    fn new(takes: Duration) -> Arc<Self> {
        Arc::new(Self { takes, works: AtomicBool::new(true), calls: AtomicU32::new(0) })
    }

    async fn serve(&self) -> Result<(), Error> {
        if !self.works.load(Ordering::Relaxed) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        sleep(self.takes).await;
        Ok(())
    }

    /// The number of calls that have reached it while it worked.
    fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }
}

#[retry(attempts = 3, breaker = breaker, when_open = wait)]
async fn patient(
    breaker: Arc<CircuitBreaker>,
    server: Arc<Server>,
) -> Result<(), RetryError<Error>> {
    server.serve().await
}

#[retry(attempts = 3, backoff = fixed, initial_delay = "0s", breaker = breaker, when_open = wait)]
async fn eager(breaker: Arc<CircuitBreaker>, server: Arc<Server>) -> Result<(), RetryError<Error>> {
    server.serve().await
}

#[retry(attempts = 3, initial_delay = "1h", max_delay = "1h", breaker = breaker, when_open = wait)]
async fn slow_to_look(
    breaker: Arc<CircuitBreaker>,
    server: Arc<Server>,
) -> Result<(), RetryError<Error>> {
    server.serve().await
}

/// A thousand calls.
fn thousand<F>(
    call: impl Fn(Arc<CircuitBreaker>, Arc<Server>) -> F,
    breaker: &Arc<CircuitBreaker>,
    server: &Arc<Server>,
) -> JoinSet<Result<(), RetryError<Error>>>
where
    F: Future<Output = Result<(), RetryError<Error>>> + Send + 'static,
{
    let mut calls = JoinSet::new();
    for _ in 0..1_000 {
        calls.spawn(call(Arc::clone(breaker), Arc::clone(server)));
    }
    calls
}

fn assert_near(calls: u32, meant: u32) {
    assert!(calls.abs_diff(meant) <= 2 + meant / 10, "{calls} instead of {meant}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_join_each_stage_by_its_share() {
    for nth in 0..3 {
        let (breaker, server) = (recovering(GRADUAL), Server::new(5 * S));
        let began = Instant::now();
        let calls = match nth {
            0 => thousand(patient, &breaker, &server),
            1 => thousand(eager, &breaker, &server),
            _ => thousand(slow_to_look, &breaker, &server),
        };
        sleep(S * 49 / 10).await;
        // 1 % of 1,000, then 5 % of 990, 25 % of 940, 50 % of 705: each after the first success.
        for meant in [10, 60, 295, 647] {
            assert_near(server.calls(), meant);
            sleep(5 * S).await;
        }
        assert!(calls.join_all().await.iter().all(Result::is_ok));
        assert_eq!((server.calls(), breaker.state()), (1_000, State::Closed));
        assert!(began.elapsed() <= 26 * S, "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_failed_in_the_outage_join_a_stage_by_its_share_too() {
    #[retry(attempts = unlimited, budget = "10m", breaker = breaker, when_open = wait)]
    async fn tireless(
        breaker: Arc<CircuitBreaker>,
        server: Arc<Server>,
    ) -> Result<(), RetryError<Error>> {
        server.serve().await
    }

    let (breaker, server) =
        (Arc::new(CircuitBreaker::named("stages", GRADUAL)), Server::new(5 * S));
    server.works.store(false, Ordering::Relaxed);
    let calls = thousand(tireless, &breaker, &server);
    sleep(10 * S).await;
    assert_eq!(breaker.state(), State::Open);
    server.works.store(true, Ordering::Relaxed);
    while server.calls() == 0 {
        sleep(S / 10).await;
    }
    // Three probes at a time, for five seconds; then the first stage.
    sleep(S * 49 / 10).await;
    assert_eq!(server.calls(), 3);
    sleep(5 * S).await;
    assert_near(server.calls(), 13);
    sleep(5 * S).await;
    assert_near(server.calls(), 62);
    assert!(calls.join_all().await.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_do_not_count_as_arrivals_of_a_stage() {
    let (breaker, server) = (recovering(GRADUAL), Server::new(5 * S));
    let first = breaker.try_acquire().expect("the first of a stage is admitted");
    let mut calls = JoinSet::new();
    for _ in 0..10 {
        calls.spawn(eager(Arc::clone(&breaker), Arc::clone(&server)));
    }
    sleep(25 * S).await;
    // Ten arrivals and this one, however often the ten have looked since.
    assert_eq!(server.calls(), 0);
    assert!(breaker.try_acquire().is_err());
    first.success();
    assert!(calls.join_all().await.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_makes_room_for_one_that_waits() {
    let (breaker, server) = (recovering(GRADUAL), Server::new(5 * S));
    let dropped = breaker.try_acquire().expect("the first of a stage is admitted");
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        calls.spawn(slow_to_look(Arc::clone(&breaker), Arc::clone(&server)));
    }
    sleep(10 * S).await;
    assert_eq!(server.calls(), 0);
    drop(dropped);
    sleep(S).await;
    assert_eq!(server.calls(), 1);
    assert!(calls.join_all().await.iter().all(Result::is_ok));
}

#[test]
fn threads_that_wait_join_a_stage_by_its_share() {
    const STAGE: Duration = Duration::from_millis(20);

    #[retry(attempts = 3, initial_delay = "1ms", breaker = breaker, when_open = wait)]
    fn blocking(breaker: &CircuitBreaker, begun: &AtomicU32) -> Result<(), RetryError<Error>> {
        if begun.fetch_add(1, Ordering::Relaxed) == 0 {
            // After the stage's least time, the others try again and again.
            let admitted = std::time::Instant::now();
            while admitted.elapsed() <= STAGE {
                thread::yield_now();
            }
            until_refused(breaker, breaker.snapshot().outcomes.rejected + 40);
            assert_eq!(begun.load(Ordering::Relaxed), 1);
        }
        Ok(())
    }

    let breaker = recovering(GRADUAL.stage_time(STAGE));
    let begun = AtomicU32::new(0);
    thread::scope(|scope| {
        let calls: Vec<_> = (0..20).map(|_| scope.spawn(|| blocking(&breaker, &begun))).collect();
        for call in calls {
            call.join().unwrap().unwrap();
        }
    });
    assert_eq!(begun.load(Ordering::Relaxed), 20);
}

/// Fails at the first attempt. Meanwhile the stage refuses the calls that come.
fn fail_once(attempts: &AtomicU32, breaker: &CircuitBreaker) -> Result<(), Error> {
    assert!((0..20).all(|_| breaker.try_acquire().is_err()), "1 %");
    let is_first = attempts.fetch_add(1, Ordering::Relaxed) == 0;
    if is_first { Err(ErrorKind::ConnectionRefused.into()) } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_stage_admitted_is_retried() {
    #[retry(attempts = 3, breaker = breaker)]
    async fn annotated(
        breaker: &CircuitBreaker,
        attempts: &AtomicU32,
    ) -> Result<(), RetryError<Error>> {
        fail_once(attempts, breaker)
    }

    #[retry(attempts = 3, breaker = breaker, when_open = wait)]
    async fn waiting(
        breaker: &CircuitBreaker,
        attempts: &AtomicU32,
    ) -> Result<(), RetryError<Error>> {
        fail_once(attempts, breaker)
    }

    let retrier = Retrier::new(Policy::new());
    for front_end in 0..5 {
        let (breaker, attempts) = (recovering(GRADUAL), Arc::new(AtomicU32::new(0)));
        let began = Instant::now();
        match front_end {
            0 => annotated(&breaker, &attempts).await.unwrap(),
            1 => waiting(&breaker, &attempts).await.unwrap(),
            2 => {
                let guard = &*breaker;
                retrying!(name = "stages.block", attempts = 3, breaker = guard, async {
                    fail_once(&attempts, guard)
                })
                .await
                .unwrap();
            }
            3 => {
                let retrier = retrier.clone().breaker(Arc::clone(&breaker));
                retrier.run(|| async { fail_once(&attempts, &breaker) }).await.unwrap();
            }
            _ => {
                let retrier = retrier.clone().breaker(Arc::clone(&breaker));
                let (breaker, attempts) = (breaker.clone(), attempts.clone());
                let service = service_fn(move |()| {
                    let (breaker, attempts) = (breaker.clone(), attempts.clone());
                    async move { fail_once(&attempts, &breaker) }
                });
                RetryLayer::new(retrier).layer(service).call(()).await.unwrap();
            }
        }
        assert_eq!(attempts.load(Ordering::Relaxed), 2, "front end {front_end}");
        assert_eq!(began.elapsed(), S, "front end {front_end}");
    }
}

#[test]
fn a_blocking_call_that_a_stage_admitted_is_retried() {
    #[retry(attempts = 3, initial_delay = "1ms", breaker = breaker)]
    fn annotated(breaker: &CircuitBreaker, attempts: &AtomicU32) -> Result<(), RetryError<Error>> {
        fail_once(attempts, breaker)
    }

    let (breaker, attempts) = (recovering(GRADUAL), AtomicU32::new(0));
    annotated(&breaker, &attempts).unwrap();
    assert_eq!(attempts.swap(0, Ordering::Relaxed), 2);

    let breaker = recovering(GRADUAL);
    let policy = Policy::new().initial_delay(Duration::from_millis(1));
    let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker));
    retrier.blocking(|| fail_once(&attempts, &breaker)).call().unwrap();
    assert_eq!(attempts.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_started_before_the_stages_is_rejected_without_a_wait() {
    /// An attempt during which the breaker opens and recovers.
    async fn outlast_an_outage(breaker: &CircuitBreaker) -> Result<(), Error> {
        recover(breaker);
        let _running = breaker.try_acquire().expect("the first of a stage is admitted");
        // The least time of the stage is over, and no call has succeeded.
        sleep(4 * S).await;
        Err(ErrorKind::ConnectionRefused.into())
    }

    #[retry(attempts = 3, breaker = breaker)]
    async fn annotated(breaker: &CircuitBreaker) -> Result<(), RetryError<Error>> {
        outlast_an_outage(breaker).await
    }

    let breaker = Arc::new(CircuitBreaker::new("stages", GRADUAL));
    let began = Instant::now();
    let error = annotated(&breaker).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 1));
    assert_eq!(began.elapsed(), 4 * S);

    breaker.reset();
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let error = retrier.run(|| outlast_an_outage(&breaker)).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 1));
    assert_eq!(began.elapsed(), 8 * S);
}
