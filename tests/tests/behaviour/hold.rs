//! `hold`: one call's server has asked for a wait, and all calls of the breaker keep to it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::matchers::network;
use retry_runtime::{
    Bound, BreakerConfig, CircuitBreaker, Class, HalfOpen, Interrupted, Policy, Reason, Retrier,
    RetryError, State, classify, retry,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep};

use crate::support::{Calls, Classified, Failure, millis, secs, until_refused};

const HOLDING: BreakerConfig = BreakerConfig::new().hold(secs(120));
/// The longest wait for a hold of 30 s.
const SPREAD: Duration = secs(33);

fn breaker(config: BreakerConfig) -> Arc<CircuitBreaker> {
    Arc::new(CircuitBreaker::named("api".to_owned(), config))
}

fn held(span: Duration) -> Arc<CircuitBreaker> {
    let breaker = breaker(HOLDING);
    breaker.hold(span);
    breaker
}

const fn limited(wait: u64) -> Classified {
    Classified(Class::RATE_LIMIT, Some(secs(wait)))
}

#[track_caller]
fn assert_spread(took: Duration, hold: Duration) {
    assert!((hold..=hold + hold / 10 + millis(1)).contains(&took), "{took:?} for {hold:?}");
}

#[retry(attempts = 2, initial_delay = "1ms", breaker = breaker, classify = |e: &Classified| Some(e.0), retry_after = |e: &Classified| e.1)]
async fn once(breaker: &CircuitBreaker, error: Classified) -> Result<(), RetryError<Classified>> {
    Err(Classified(error.0, error.1))
}

#[tokio::test(start_paused = true)]
async fn a_wait_holds_all_calls_if_the_server_limits_or_fails() {
    let retrier = |breaker: &Arc<CircuitBreaker>| {
        Retrier::new(Policy::new().attempts(1)).breaker(Arc::clone(breaker)).classified()
    };
    let error = || Class::SERVER_ERROR.union(Class::TIMEOUT);
    for (class, wait, held) in [
        (Class::RATE_LIMIT, Some(secs(30)), secs(30)),
        (Class::SERVER_ERROR, Some(secs(30)), secs(30)),
        (error(), Some(secs(30)), secs(30)),
        (Class::RATE_LIMIT, Some(secs(900)), secs(120)),
        (Class::RATE_LIMIT, Some(Duration::ZERO), Duration::ZERO),
        (Class::RATE_LIMIT, None, Duration::ZERO),
        (Class::CONFLICT, Some(secs(30)), Duration::ZERO),
        (Class::TIMEOUT, Some(secs(30)), Duration::ZERO),
        // A 404 with a wait.
        (Class::empty(), Some(secs(30)), Duration::ZERO),
    ] {
        #[retry(attempts = 1, breaker = breaker)]
        async fn fetch(
            breaker: &CircuitBreaker,
            class: Class,
            wait: Option<Duration>,
        ) -> Result<(), RetryError<Classified>> {
            Err(Classified(class, wait))
        }
        let by_attribute = breaker(HOLDING);
        fetch(&by_attribute, class, wait).await.unwrap_err();
        assert_eq!(by_attribute.held_for(), held, "{class:?} {wait:?}");
        let by_retrier = breaker(HOLDING);
        let fail = || async { Err::<(), _>(Classified(class, wait)) };
        retrier(&by_retrier).run(fail).await.unwrap_err();
        assert_eq!(by_retrier.held_for(), held, "{class:?} {wait:?}");
        let by_thread = breaker(HOLDING);
        let fail = || Err::<(), _>(Classified(class, wait));
        retrier(&by_thread).run_sync(fail).unwrap_err();
        assert_eq!(by_thread.held_for(), held, "{class:?} {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_closure_reads_from_an_unknown_error_holds_as_a_rate_limit() {
    #[retry(attempts = 1, breaker = breaker, retry_after = Failure::wait)]
    async fn fetch(breaker: &CircuitBreaker) -> Result<(), Failure> {
        Err(Failure::SlowDown(secs(30)))
    }
    let by_attribute = breaker(HOLDING);
    fetch(&by_attribute).await.unwrap_err();
    let by_retrier = breaker(HOLDING);
    let retrier = Retrier::new(Policy::new().attempts(1)).breaker(Arc::clone(&by_retrier));
    let fail = || async { Err::<(), _>(Failure::SlowDown(secs(30))) };
    retrier.clone().retry_after(Failure::wait).run(fail).await.unwrap_err();
    for breaker in [by_attribute, by_retrier] {
        assert_eq!(breaker.held_for(), secs(30));
        assert_eq!(breaker.snapshot().consecutive_failures, 0);
    }
    for class in [Class::CONFLICT, Class::NETWORK] {
        let breaker = breaker(HOLDING);
        once(&breaker, Classified(class, Some(secs(30)))).await.unwrap_err();
        assert_eq!(breaker.held_for(), Duration::ZERO, "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_the_program_does_not_hold_the_breaker() {
    #[retry(attempts = 2, breaker = breaker, context = cx)]
    async fn by_ruling(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        cx.retry_after(secs(30));
        Err(Classified(Class::RATE_LIMIT, None))
    }
    #[retry(attempts = 2, breaker = breaker, wait_by = |_, _, _| ControlFlow::Continue(secs(30)))]
    async fn by_closure(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        Err(Classified(Class::RATE_LIMIT, None))
    }
    let breaker = breaker(HOLDING.failure_threshold(100));
    let start = Instant::now();
    by_ruling(&breaker).await.unwrap_err();
    by_closure(&breaker).await.unwrap_err();
    assert_eq!(start.elapsed(), secs(60));
    assert_eq!((breaker.held_for(), breaker.snapshot().outcomes.failures), (Duration::ZERO, 4));
}

#[tokio::test(start_paused = true)]
async fn an_opaque_retrier_holds_nothing() {
    let breaker = breaker(HOLDING);
    let retrier = Retrier::new(Policy::new().attempts(1)).breaker(Arc::clone(&breaker)).opaque();
    let fail = || async { Err::<(), _>(limited(30)) };
    retrier.run(fail).await.unwrap_err();
    retrier.retry_after(|error: &Classified| error.1).run(fail).await.unwrap_err();
    assert_eq!(breaker.held_for(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_not_retried_holds_as_well() {
    #[retry(retry_on = [network], breaker = breaker)]
    async fn fetch(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        Err(limited(30))
    }
    let breaker = breaker(HOLDING);
    assert_eq!(fetch(&breaker).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(breaker.held_for(), secs(30));
    let outcomes = breaker.snapshot().outcomes;
    assert_eq!((outcomes.held, outcomes.failures), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dead_proxy_with_short_holds_opens_the_breaker() {
    #[retry(attempts = 9, jitter, breaker = breaker)]
    async fn fetch(breaker: &CircuitBreaker, calls: &Calls) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(Classified(Class::SERVER_ERROR, Some(secs(1))))
    }
    let (breaker, calls) = (breaker(HOLDING), Calls::new());
    assert_eq!(fetch(&breaker, &calls).await.unwrap_err().reason(), Reason::CircuitOpen);
    assert_eq!((calls.made(), breaker.state()), (5, State::Open));
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_is_rejected_at_once() {
    let breaker = held(secs(30));
    let start = Instant::now();
    let error = once(&breaker, limited(1)).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Held, 0));
    assert!(matches!(error.interrupted(), Some(Interrupted::Held { .. })), "{error:?}");
    assert_eq!(
        format!("{error:#}"),
        "gave up before the first attempt (the circuit breaker holds all calls for another 30s, as a \
         server asked): circuit breaker `api` holds all calls for another 30s, as a server asked"
    );
    assert_eq!(error.retry_after(), Some(secs(30)));
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let error = retrier.run(|| async { Ok::<_, Failure>(()) }).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Held, 0));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

/// Fails once, and then succeeds.
#[retry(attempts = 2, initial_delay = "1s", breaker = breaker, retry_on = [network, timeout])]
async fn reset_once(
    breaker: &CircuitBreaker,
    calls: &Calls,
) -> Result<Duration, RetryError<Classified>> {
    match calls.make() {
        1 => Err(Classified(Class::NETWORK, None)),
        _ => Ok(breaker.held_for()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_failed_waits_for_the_end_of_a_hold_that_began_during_its_wait() {
    for by_retrier in [false, true] {
        let (breaker, calls, start) = (breaker(HOLDING), Calls::new(), Instant::now());
        let hold = async {
            sleep(millis(500)).await;
            breaker.hold(secs(30));
        };
        let call = async {
            if !by_retrier {
                return reset_once(&breaker, &calls).await.unwrap();
            }
            let retrier = Retrier::new(Policy::new().attempts(2)).retry_on([network]).classified();
            let retrier = retrier.breaker(Arc::clone(&breaker));
            let attempt = || async {
                match calls.make() {
                    1 => Err(Classified(Class::NETWORK, None)),
                    _ => Ok(breaker.held_for()),
                }
            };
            retrier.run(attempt).await.unwrap()
        };
        let (left, ()) = tokio::join!(call, hold);
        assert_eq!((left, calls.made()), (Duration::ZERO, 2));
        assert_spread(start.elapsed().saturating_sub(millis(500)), secs(30));
        assert_eq!(breaker.snapshot().outcomes.rejected, 1);
    }
}

#[test]
fn a_thread_waits_for_the_end_of_a_hold_that_began_during_its_wait() {
    // Called once the wait is decided.
    #[retry(attempts = 2, initial_delay = "1ms", breaker = breaker, on_retry = |_| breaker.hold(hold))]
    fn fetch(
        breaker: &CircuitBreaker,
        calls: &Calls,
        hold: Duration,
    ) -> Result<(), RetryError<Classified>> {
        match calls.make() {
            1 => Err(Classified(Class::NETWORK, None)),
            _ => Ok(()),
        }
    }
    let (breaker, start) = (breaker(HOLDING), std::time::Instant::now());
    fetch(&breaker, &Calls::new(), millis(20)).unwrap();
    assert!(start.elapsed() >= millis(20));

    let before = breaker.snapshot().outcomes.rejected;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fetch(&breaker, &Calls::new(), secs(100)));
        until_refused(&breaker, before + 1);
        breaker.reset();
        waiting.join().unwrap().unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_its_own_is_lengthened_until_after_the_end_of_the_hold() {
    #[retry(attempts = 2, breaker = breaker)]
    async fn fetch(breaker: &CircuitBreaker, calls: &Calls) -> Result<(), RetryError<Classified>> {
        match calls.make() {
            1 => {
                // Another call's server has asked for longer.
                breaker.hold(secs(20));
                Err(limited(5))
            }
            _ => Ok(()),
        }
    }
    let (breaker, calls) = (breaker(HOLDING), Calls::new());
    fetch(&breaker, &calls).await.unwrap();
    assert_spread(calls.gaps()[0], secs(20));
    assert_eq!(breaker.snapshot().outcomes.rejected, 0, "it did not ask too early");
}

#[retry(attempts = 1, breaker = breaker, when_open = wait)]
async fn patient(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn with_when_open_wait_each_call_waits_and_none_uses_up_an_attempt() {
    let breaker = held(secs(30));
    let start = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..100 {
        let shared = Arc::clone(&breaker);
        waiting.spawn(async move { patient(&shared).await.map(|()| start.elapsed()) });
        let retrier = Retrier::new(Policy::new().attempts(1)).wait_when_open();
        let retrier = retrier.breaker(Arc::clone(&breaker));
        waiting.spawn(async move {
            let ended = retrier.run(|| async { Ok::<_, Classified>(()) }).await;
            ended.map(|()| start.elapsed())
        });
    }
    let mut ended: Vec<_> = waiting.join_all().await.into_iter().map(Result::unwrap).collect();
    ended.sort();
    ended.dedup();
    for took in &ended {
        assert_spread(*took, secs(30));
    }
    assert!(ended.len() > 100, "{} of 200 moments are different", ended.len());
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_is_renewed_is_waited_for_again() {
    let breaker = held(secs(30));
    let start = Instant::now();
    let renew = async {
        for _ in 0..20 {
            sleep(secs(25)).await;
            breaker.hold(secs(30));
        }
    };
    let (outcome, ()) = tokio::join!(patient(&breaker), renew);
    outcome.unwrap();
    let took = start.elapsed();
    assert!((secs(530)..=secs(542)).contains(&took), "{took:?}: the spread is capped");
}

#[tokio::test(start_paused = true)]
async fn limits_allow_the_end_without_the_spread_or_end_the_call_at_once() {
    #[retry(attempts = 1, budget = "30s", breaker = breaker, when_open = wait)]
    async fn budget(breaker: &CircuitBreaker) -> Result<(), RetryError<Failure>> {
        Ok(())
    }
    #[retry(attempts = 1, deadline = "30001ms", breaker = breaker, when_open = wait)]
    async fn deadline(breaker: &CircuitBreaker) -> Result<(), RetryError<Failure>> {
        Ok(())
    }
    #[retry(attempts = 1, max_elapsed = "30s", breaker = breaker, when_open = wait)]
    async fn max_elapsed(breaker: &CircuitBreaker) -> Result<(), RetryError<Failure>> {
        Ok(())
    }
    for _ in 0..20 {
        let start = Instant::now();
        let breaker = held(secs(30));
        let (one, two, three) =
            tokio::join!(budget(&breaker), deadline(&breaker), max_elapsed(&breaker));
        assert!([one, two, three].iter().all(Result::is_ok));
        assert_eq!(start.elapsed(), secs(30));

        let breaker = held(secs(31));
        let (one, two, three) =
            tokio::join!(budget(&breaker), deadline(&breaker), max_elapsed(&breaker));
        let reasons = [one, two, three].map(|ended| ended.unwrap_err().reason());
        assert_eq!(reasons, [Reason::Budget, Reason::Deadline, Reason::MaxElapsed]);
        assert_eq!(start.elapsed(), secs(30), "at once");
    }
}

const HOUR: Duration = secs(3_600);
const LONG: BreakerConfig = BreakerConfig::new().hold(secs(24 * 3_600));

/// A breaker that holds calls for `span`, which a server may ask for.
fn held_long(span: Duration) -> Arc<CircuitBreaker> {
    let breaker = breaker(LONG);
    breaker.hold(span);
    breaker
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_breaker_ends_at_a_hold_longer_than_max_retry_after() {
    #[retry(attempts = 1, max_retry_after = "10m", breaker = breaker, when_open = wait)]
    async fn bounded(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        Ok(())
    }
    #[retry(attempts = 1, max_retry_after = unlimited, breaker = breaker, when_open = wait)]
    async fn endless(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        Ok(())
    }
    let retry_with = async |policy: Policy, breaker: &Arc<CircuitBreaker>| {
        let retrier = Retrier::new(policy.attempts(1)).breaker(Arc::clone(breaker));
        retrier.wait_when_open().run(|| async { Ok::<_, Classified>(()) }).await
    };
    let unset = Policy::new();
    for (bound, longest) in [(None, HOUR), (Some(secs(600)), secs(600))] {
        let longer = longest + Duration::from_nanos(1);
        for hold in [longest, longer] {
            let (breaker, start) = (held_long(hold), Instant::now());
            let policy = bound.map_or(unset, |bound| unset.max_retry_after(bound));
            let function = async {
                if bound.is_some() { bounded(&breaker).await } else { patient(&breaker).await }
            };
            let ended = tokio::join!(function, retry_with(policy, &breaker));
            for ended in [ended.0, ended.1] {
                if hold == longest {
                    ended.unwrap();
                    continue;
                }
                let error = ended.unwrap_err();
                assert_eq!((error.reason(), error.attempts()), (Reason::Held, 0));
                assert_eq!(error.retry_after(), Some(longer));
                assert_eq!(start.elapsed(), Duration::ZERO, "at once");
            }
        }
    }
    let (breaker, start) = (held_long(10 * HOUR), Instant::now());
    let unlimited = unset.with_max_retry_after(Bound::Unlimited);
    let ended = tokio::join!(endless(&breaker), retry_with(unlimited, &breaker));
    assert!(ended.0.is_ok() && ended.1.is_ok());
    assert_spread(start.elapsed(), 10 * HOUR);
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_ends_at_a_hold_longer_than_max_retry_after() {
    #[retry(attempts = 3, max_retry_after = "10m", breaker = breaker, on_retry = |_| calls.wait(breaker))]
    async fn fetch(breaker: &CircuitBreaker, calls: &Holds) -> Result<(), RetryError<Classified>> {
        calls.fail(breaker)
    }
    #[retry(attempts = 3, max_retry_after = "10m", breaker = breaker, when_open = wait, on_retry = |_| calls.wait(breaker))]
    async fn waiting(
        breaker: &CircuitBreaker,
        calls: &Holds,
    ) -> Result<(), RetryError<Classified>> {
        calls.fail(breaker)
    }
    #[retry(attempts = 3, initial_delay = "1ms", max_retry_after = "10m", breaker = breaker, on_retry = |_| calls.wait(breaker))]
    fn blocking(breaker: &CircuitBreaker, calls: &Holds) -> Result<(), RetryError<Classified>> {
        calls.fail(breaker)
    }
    /// Another call's server asks for a wait, during the attempt or during the wait after it.
    struct Holds {
        calls: Calls,
        in_attempt: bool,
        span: Duration,
    }
    impl Holds {
        fn fail(&self, breaker: &CircuitBreaker) -> Result<(), Classified> {
            if self.calls.make() > 1 {
                return Ok(());
            }
            if self.in_attempt {
                breaker.hold(self.span);
            }
            Err(Classified(Class::NETWORK, None))
        }

        fn wait(&self, breaker: &CircuitBreaker) {
            if !self.in_attempt {
                breaker.hold(self.span);
            }
        }
    }
    let policy = Policy::new().max_retry_after(secs(600));
    for in_attempt in [false, true] {
        for form in 0..5 {
            let calls = Holds { calls: Calls::new(), in_attempt, span: secs(650) };
            let breaker = breaker(LONG);
            let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker)).classified();
            let run = async |retrier: Retrier<_>| {
                let call = retrier.run(|| async { calls.fail(&breaker) });
                call.on_retry(|_| calls.wait(&breaker)).await
            };
            let ended = match form {
                0 => fetch(&breaker, &calls).await,
                1 => waiting(&breaker, &calls).await,
                2 => blocking(&breaker, &calls),
                3 => run(retrier).await,
                _ => run(retrier.wait_when_open()).await,
            };
            let error = ended.unwrap_err();
            assert_eq!(
                (error.reason(), error.attempts()),
                (Reason::Held, 1),
                "{form} {in_attempt}"
            );
            assert!(error.last().is_some(), "the failure before");
            let rest = error.retry_after().unwrap();
            assert!((secs(648)..=secs(650)).contains(&rest), "{rest:?}");
            assert_eq!(calls.calls.made(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_outlasts_the_hold_anyway_is_not_ended_by_it() {
    #[retry(attempts = 2, max_retry_after = "10m", breaker = breaker, context = cx)]
    async fn ruled(breaker: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        if cx.number() > 1 {
            return Ok(());
        }
        breaker.hold(secs(900));
        cx.retry_after(secs(1_000));
        Err(Classified(Class::NETWORK, None))
    }
    let start = Instant::now();
    ruled(&breaker(LONG)).await.unwrap();
    assert_eq!(start.elapsed(), secs(1_000));
}

#[tokio::test(start_paused = true)]
async fn the_wait_counts_as_waited() {
    #[retry(attempts = 1, breaker = breaker, when_open = wait, context = cx)]
    async fn told(breaker: &CircuitBreaker) -> Result<(u32, Duration), RetryError<Failure>> {
        Ok((cx.number(), cx.waited()))
    }
    let breaker = held(secs(30));
    let start = Instant::now();
    let (number, waited) = told(&breaker).await.unwrap();
    assert_eq!(number, 1);
    assert_spread(waited, secs(30));
    assert!(start.elapsed().saturating_sub(waited) < millis(2));
}

#[tokio::test(start_paused = true)]
async fn reset_wakes_the_calls_that_wait() {
    let (breaker, calls, start) = (held(secs(30)), Calls::new(), Instant::now());
    let reset = async {
        sleep(secs(3)).await;
        breaker.reset();
    };
    let (outcome, ()) = tokio::join!(patient(&breaker), reset);
    outcome.unwrap();
    assert_eq!(start.elapsed(), secs(3));

    // Without `when_open = wait` as well.
    let change = async {
        sleep(millis(500)).await;
        breaker.hold(secs(30));
        sleep(secs(3)).await;
        breaker.reset();
    };
    let (outcome, ()) = tokio::join!(reset_once(&breaker, &calls), change);
    outcome.unwrap();
    assert_eq!(start.elapsed(), secs(6) + millis(500));
}

#[tokio::test(start_paused = true)]
async fn if_an_open_time_ends_later_the_refusal_uses_up_an_attempt() {
    let config = HOLDING.failure_threshold(1).success_threshold(1).timeout(secs(10));
    for (hold, reason) in [(secs(5), Reason::CircuitOpen), (secs(20), Reason::Attempts)] {
        #[retry(attempts = 1, breaker = breaker, when_open = wait)]
        async fn fetch(breaker: &CircuitBreaker) -> Result<(), RetryError<Failure>> {
            Err(Failure::Corrupt)
        }
        let breaker = breaker(config);
        let failed = breaker.try_acquire().unwrap();
        breaker.hold(hold);
        failed.failure();
        let start = Instant::now();
        assert_eq!(fetch(&breaker).await.unwrap_err().reason(), reason);
        if reason == Reason::Attempts {
            assert_spread(start.elapsed(), hold);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_waits_for_the_breaker_is_cancelled() {
    #[retry(attempts = 3, breaker = breaker, when_open = wait, cancel = sleep(secs(5)))]
    async fn fetch(breaker: &CircuitBreaker) -> Result<(), RetryError<Failure>> {
        Ok(())
    }
    let open = breaker(HOLDING.failure_threshold(1));
    open.try_acquire().unwrap().failure();
    for breaker in [held(secs(30)), open] {
        let start = Instant::now();
        let error = fetch(&breaker).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 0));
        assert_eq!(error.interrupted(), Some(&Interrupted::Cancelled));
        assert_eq!(start.elapsed(), secs(5));
    }
}

#[derive(Debug)]
struct Outer(RetryError<Classified>);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inner call failed")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[tokio::test(start_paused = true)]
async fn an_outer_call_waits_for_the_rest_of_the_hold_and_its_breaker_counts_nothing() {
    #[retry(attempts = 2, breaker = outer)]
    async fn wrapped(
        outer: &CircuitBreaker,
        inner: &CircuitBreaker,
    ) -> Result<(), RetryError<Outer>> {
        succeed(inner).await.map_err(Outer)
    }
    #[retry(attempts = 2, breaker = outer)]
    async fn erased(outer: &CircuitBreaker, inner: &CircuitBreaker) -> anyhow::Result<()> {
        Ok(succeed(inner).await?)
    }
    #[retry(attempts = 2, breaker = outer)]
    async fn io(outer: &CircuitBreaker, inner: &CircuitBreaker) -> std::io::Result<()> {
        succeed(inner).await.map_err(|error| error.interrupted().unwrap().clone().into())
    }
    #[retry(attempts = 1, breaker = inner)]
    async fn succeed(inner: &CircuitBreaker) -> Result<(), RetryError<Classified>> {
        Ok(())
    }
    // An outer breaker that would count each failure, and hold each rate limit.
    let outer = breaker(HOLDING.failure_threshold(1).abandoned_after(secs(1)));
    let retrier = Retrier::new(Policy::new().attempts(2)).breaker(Arc::clone(&outer));
    for form in 0..4 {
        let (inner, start) = (held(secs(30)), Instant::now());
        match form {
            0 => wrapped(&outer, &inner).await.unwrap(),
            1 => erased(&outer, &inner).await.unwrap(),
            2 => io(&outer, &inner).await.unwrap(),
            _ => retrier.run(|| succeed(&inner)).await.unwrap(),
        }
        assert_eq!(start.elapsed(), secs(30), "{form}");
        let snapshot = outer.snapshot();
        assert_eq!((snapshot.state, snapshot.held), (State::Closed, Duration::ZERO));
        assert_eq!(snapshot.outcomes.forgiven, form + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_is_a_rate_limit_with_the_rest_of_the_hold() {
    let breaker = held(secs(30));
    advance(secs(10)).await;
    let interrupted: Interrupted = breaker.try_acquire().unwrap_err().into();
    assert_eq!(classify::error(&interrupted), Class::RATE_LIMIT);
    assert_eq!(retry_runtime::Classify::retry_after(&interrupted), Some(secs(20)));
    let error = RetryError::<Failure>::from(interrupted.clone());
    assert_eq!(error.reason(), Reason::Held);
    let io = std::io::Error::from(interrupted);
    assert_eq!(io.kind(), std::io::ErrorKind::Other);
    assert_eq!(classify::error(&io), Class::RATE_LIMIT);
}

#[tokio::test(start_paused = true)]
async fn no_hedge_begins_while_calls_are_held() {
    #[retry(attempts = 1, hedge = "1s", breaker = breaker)]
    async fn fetch(breaker: &CircuitBreaker, calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        breaker.hold(secs(30));
        sleep(secs(5)).await;
        Ok(())
    }
    let (breaker, calls) = (breaker(HOLDING), Calls::new());
    fetch(&breaker, &calls).await.unwrap();
    assert_eq!((calls.made(), breaker.snapshot().outcomes.rejected), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_stage_has_admitted_goes_on_after_a_hold() {
    #[retry(attempts = 2, initial_delay = "1s", breaker = breaker, retry_on = [network])]
    async fn fetch(breaker: &CircuitBreaker, calls: &Calls) -> Result<(), RetryError<Classified>> {
        match calls.make() {
            1 => Err(Classified(Class::NETWORK, None)),
            _ => Ok(()),
        }
    }
    let config = HOLDING.success_threshold(1).timeout(secs(600)).half_open(HalfOpen::Gradual);
    let breaker = breaker(config.stage_time(secs(300)));
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    breaker.try_acquire().unwrap().success();
    let calls = Calls::new();
    let hold = async {
        sleep(millis(500)).await;
        breaker.hold(secs(30));
    };
    let (ended, ()) = tokio::join!(fetch(&breaker, &calls), hold);
    ended.unwrap();
    assert_eq!((calls.made(), breaker.state()), (2, State::HalfOpen));
}

#[tokio::test(start_paused = true)]
async fn each_member_of_a_group_holds_for_its_own_wait_only() {
    /// The first member is limited. The other one fails later, and names no wait.
    async fn member(calls: &Calls, class: Class) -> Result<(), Classified> {
        if calls.make() == 1 {
            sleep(secs(2)).await;
            return Err(limited(5));
        }
        sleep(secs(2)).await;
        Err(Classified(class, None))
    }
    #[retry(attempts = 2, hedge = "1s", budget = "1ms", breaker = breaker, classify = |e: &Classified| Some(e.0), retry_after = |e: &Classified| e.1)]
    async fn fetch(
        breaker: &CircuitBreaker,
        calls: &Calls,
        class: Class,
    ) -> Result<(), RetryError<Classified>> {
        member(calls, class).await
    }
    let policy = Policy::new().attempts(2).hedge(secs(1)).budget(millis(1));
    for class in [Class::RATE_LIMIT, Class::SERVER_ERROR, Class::empty()] {
        for by_retrier in [false, true] {
            let (breaker, calls) = (breaker(HOLDING), Calls::new());
            let error = if by_retrier {
                let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker));
                let retrier = retrier.classified().retry_after(|error: &Classified| error.1);
                retrier.run(|| member(&calls, class)).await.unwrap_err()
            } else {
                fetch(&breaker, &calls, class).await.unwrap_err()
            };
            assert_eq!((error.reason(), error.retry_after()), (Reason::Budget, Some(secs(5))));
            let snapshot = breaker.snapshot();
            // A second has passed since the first member failed.
            assert_eq!(snapshot.held, secs(4), "{class:?} {by_retrier}");
            assert_eq!((snapshot.outcomes.held, snapshot.outcomes.failures), (1, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_to_fall_back_on_may_stand_beside_a_wait_for_the_breaker() {
    #[retry(attempts = 1, breaker = breaker, when_open = wait, on_failure = fallback(|_| 7))]
    async fn fetch(breaker: &CircuitBreaker) -> Result<u32, RetryError<Classified>> {
        Err(limited(30))
    }
    let breaker = held(secs(30));
    let start = Instant::now();
    assert_eq!(fetch(&breaker).await.unwrap(), 7);
    assert!(start.elapsed() <= SPREAD + millis(1));
    assert_eq!(breaker.held_for(), secs(30));
}
