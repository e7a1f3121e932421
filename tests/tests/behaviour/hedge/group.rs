//! An attempt and its hedges as a group: the outcome that counts, the losers, and the reports to
//! the breaker. By function: the differential test compares the other entry points with it.

use std::future::{Future, pending, poll_fn};
use std::io::{Error, ErrorKind};
use std::ops::ControlFlow::Continue;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, PastFailure, Policy, QuotaConfig, Reason, Retrier,
    RetryError, RetryQuota, State, policy, retry, retrying,
};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, advance, sleep, timeout};
use tower::{Layer as _, ServiceExt as _, service_fn};

use super::{SLOW, Service};
use crate::support::{Calls, Failure, millis, secs};

/// An answer that makes the body panic.
const PANIC: u32 = 13;
/// An answer that makes the body use up tokio's cooperative budget in each poll.
const BUSY: u32 = 17;

/// The policy, breaker and service of a call.
struct World {
    policy: Policy,
    breaker: CircuitBreaker,
    service: Service,
    /// The calls of the predicate.
    asked: Calls,
}

impl World {
    fn new(
        policy: Policy,
        breaker: BreakerConfig,
        script: impl IntoIterator<Item = (Duration, Result<u32, Failure>)>,
    ) -> Self {
        let breaker = CircuitBreaker::new("world", breaker);
        Self { policy, breaker, service: Service::of(script), asked: Calls::new() }
    }

    async fn attempt(&self) -> Result<u32, Failure> {
        let answer = self.service.call().await?;
        match answer {
            PANIC => resume_unwind(Box::new("a bug in the body")),
            BUSY => be_busy().await,
            _ => {}
        }
        Ok(answer)
    }

    fn is_retried(&self, failure: &Failure) -> bool {
        self.asked.make();
        matches!(failure, Failure::Busy(_) | Failure::SlowDown(_))
    }
}

/// Uses up tokio's cooperative budget in each poll.
async fn be_busy() {
    let (sender, mut receiver) = unbounded_channel();
    for _ in 0..200_000 {
        sender.send(()).expect("the receiver is there");
        receiver.recv().await;
    }
}

#[retry(
    policy = world.policy,
    hedge,
    retry_on = [when(|failure| world.is_retried(failure))],
    retry_after = Failure::wait,
    breaker = world.breaker,
    history = 9,
)]
async fn call(world: &World) -> Result<u32, RetryError<Failure>> {
    world.attempt().await
}

const ONCE: Policy = policy!(attempts = 1, hedge = "200ms");
const TWICE: Policy = policy!(attempts = 2, initial_delay = "1s", hedge = "200ms");

#[tokio::test(start_paused = true)]
async fn a_failure_counts_although_a_limit_ended_the_hedge_that_hung() {
    let script = || [(millis(300), Err(Failure::Busy(1))), (SLOW, Ok(2)), (millis(1), Ok(3))];
    let world = |policy| World::new(policy, BreakerConfig::new(), script());
    let (retried, start) = (world(TWICE.timeout(secs(2))), Instant::now());
    assert_eq!(call(&retried).await.ok(), Some(3));
    assert_eq!(retried.service.seen(), (3, 1));
    assert_eq!(start.elapsed(), millis(2_000 + 1_000 + 1));

    for (policy, reason, failures) in [
        // The server hangs, which counts when the timeout ends it, but not when the caller has no time.
        (ONCE.timeout(secs(2)), Reason::Attempts, 2),
        (TWICE.deadline(secs(2)), Reason::Deadline, 1),
    ] {
        let world = world(policy);
        let error = call(&world).await.unwrap_err();
        let ended = (error.reason(), error.attempts(), error.last());
        assert_eq!(ended, (reason, 1, Some(&Failure::Busy(1))));
        assert_eq!(world.breaker.snapshot().consecutive_failures, failures, "{reason:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_returns_the_failure_of_the_last_member_that_failed() {
    #[retry(attempts = 3, initial_delay = "100ms", deadline = "200ms", hedge = "15ms")]
    async fn fetch(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        let call = calls.make();
        if call == 3 {
            pending::<()>().await;
        }
        sleep(millis(20)).await;
        Err(Failure::Busy(call))
    }
    // 1 and 2 fail by 35 ms; 3 hangs from 135 ms on, and 4 fails at 170 ms.
    let error = fetch(&Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, Some(&Failure::Busy(4))));
}

#[tokio::test(start_paused = true)]
async fn each_of_two_losers_is_judged_by_itself_when_a_timeout_ends_their_race() {
    #[retry(attempts = 1, hedge(after = "10ms", max = 2), timeout = "100ms", history = 2)]
    async fn fetch(calls: &Calls) -> Result<u32, RetryError<Error>> {
        let kind = match calls.make() {
            1 => pending().await,
            2 => ErrorKind::ConnectionReset,
            _ => ErrorKind::TimedOut,
        };
        sleep(millis(20)).await;
        Err(kind.into())
    }
    let error = fetch(&Calls::new()).await.unwrap_err();
    assert_eq!(error.last().map(Error::kind), Some(ErrorKind::TimedOut));
    let classes: Vec<_> = error.history().iter().map(PastFailure::class).collect();
    assert_eq!(classes, [Class::NETWORK, Class::TIMEOUT]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_a_member_ruled_wins_over_wait_by() {
    #[retry(hedge = "10ms", context = cx, wait_by = |_, _, _| Continue(secs(60)))]
    async fn fetch(calls: &Calls) -> Result<u32, Failure> {
        let call = calls.make();
        if call == 1 {
            cx.retry_after(secs(9));
        }
        sleep(millis(20)).await;
        if call > 2 { Ok(call) } else { Err(Failure::Busy(call)) }
    }
    let (calls, start) = (Calls::new(), Instant::now());
    fetch(&calls).await.unwrap();
    assert_eq!(start.elapsed(), secs(9) + millis(50));
}

#[tokio::test(start_paused = true)]
async fn each_member_that_failed_is_in_the_history_and_none_that_was_dropped() {
    let busy = |takes, call| (millis(takes), Err(Failure::Busy(call)));
    let corrupt = |takes| (millis(takes), Err(Failure::Corrupt));
    let hangs = || [busy(300, 1), (SLOW, Ok(2))].to_vec();
    let (one, two, three) = ("busy at call 1", "busy at call 2", "busy at call 3");
    let waited = Some(secs(1));
    let (first, second) = ((1, one, None), (1, two, None));
    for (policy, script, history) in [
        (ONCE, vec![busy(300, 1), busy(300, 2)], vec![first, second]),
        // The hedge fails first, and the attempt that it joined ends the group.
        (ONCE, vec![busy(300, 1), busy(50, 2)], vec![second, first]),
        (
            TWICE,
            vec![busy(300, 1), busy(300, 2), busy(1, 3)],
            vec![first, (1, two, waited), (2, three, None)],
        ),
        (TWICE, vec![busy(300, 1), corrupt(200)], vec![first, (1, "corrupt", None)]),
        (TWICE, vec![(SLOW, Ok(1)), corrupt(50)], vec![(1, "corrupt", None)]),
        (ONCE.timeout(secs(2)), hangs(), vec![first]),
        (TWICE.deadline(secs(2)), hangs(), vec![first]),
    ] {
        let error = call(&World::new(policy, BreakerConfig::new(), script)).await.unwrap_err();
        let kept = error.history().iter().map(|it| (it.number(), it.text(), it.wait()));
        assert_eq!(kept.collect::<Vec<_>>(), history);
    }
}

#[tokio::test(start_paused = true)]
async fn a_loser_keeps_its_wait_and_its_history_where_the_last_member_ends_in_a_value() {
    const HEDGED: Policy = policy!(attempts = 2, hedge = "100ms");

    async fn attempt(calls: &Calls) -> Result<u32, Failure> {
        match calls.make() {
            1 => {
                sleep(millis(300)).await;
                Err(Failure::SlowDown(secs(9)))
            }
            2 => {
                sleep(millis(400)).await;
                Ok(0)
            }
            _ => Err(Failure::Corrupt),
        }
    }
    macro_rules! options {
        ($way:ident! { $($rest:tt)* }) => {
            $way! {
                [
                    name = "hedge.loser",
                    policy = HEDGED,
                    hedge,
                    history = 5,
                    retry_after = Failure::wait,
                    retry_on = [matches(Failure::SlowDown(_)), ok(|value: &u32| *value == 0)],
                ]
                $($rest)*
            }
        };
    }
    macro_rules! function {
        ([$($options:tt)*] $($function:tt)*) => { #[retry($($options)*)] $($function)* };
    }
    macro_rules! block {
        ([$($options:tt)*] $($attempt:tt)*) => { retrying!($($options)* $($attempt)*) };
    }
    options!(function! {
        async fn function(calls: &Calls) -> Result<u32, RetryError<Failure>> {
            attempt(calls).await
        }
    });
    let calls: [Arc<Calls>; 4] = Default::default();
    let block = options!(block! {
        async |_| -> Result<u32, RetryError<Failure>> { attempt(&calls[1]).await }
    });
    let retrier = Retrier::new(HEDGED).history(5).retry_after(Failure::wait);
    let retrier = retrier.when(|error: &Failure| matches!(error, Failure::SlowDown(_)));
    let retrier = retrier.retry_on_value(|value: &u32| *value == 0);
    let of_service = Arc::clone(&calls[3]);
    let service = RetryLayer::new(retrier.clone()).layer(service_fn(move |()| {
        let calls = Arc::clone(&of_service);
        async move { attempt(&calls).await }
    }));
    let ends = [
        function(&calls[0]).await,
        block.await,
        retrier.run(|| attempt(&calls[2])).await,
        service.oneshot(()).await,
    ];
    for (end, calls) in ends.into_iter().zip(&calls) {
        assert_eq!(calls.gaps(), [millis(100), millis(9_400)]);
        let error = end.unwrap_err();
        let kept = error.history().iter().map(|it| (it.number(), it.wait()));
        assert_eq!(kept.collect::<Vec<_>>(), [(1, None), (1, Some(secs(9))), (2, None)]);
        assert_eq!(error.history()[0].text(), "slow down for 9s");
    }
}

#[tokio::test(start_paused = true)]
async fn losers_return_their_probes_and_count_before_the_success_of_the_winner() {
    const CONFIG: BreakerConfig = BreakerConfig::new().failure_threshold(1);

    for (config, state, probe_successes) in [
        (CONFIG.success_threshold(2), State::HalfOpen, 1),
        // A slow probe opens it again.
        (CONFIG.success_threshold(1).slow_calls(millis(100), 1.0), State::Open, 0),
    ] {
        let world = World::new(TWICE, config, [(SLOW, Ok(1)), (millis(50), Ok(2))]);
        world.breaker.try_acquire().unwrap().failure();
        sleep(world.breaker.remaining()).await;
        // The future is not dropped before the check.
        let mut call = Box::pin(call(&world));
        assert_eq!(call.as_mut().await.ok(), Some(2));
        assert_eq!(world.service.seen(), (2, 1));
        let snapshot = world.breaker.snapshot();
        let probes = (snapshot.state, snapshot.probes, snapshot.probe_successes);
        assert_eq!(probes, (state, 0, probe_successes));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_returns_all_probes() {
    let config = BreakerConfig::new().failure_threshold(1).half_open_requests(2);
    let world = World::new(TWICE, config, [(SLOW, Ok(1))]);
    world.breaker.try_acquire().unwrap().failure();
    sleep(world.breaker.remaining()).await;
    timeout(secs(1), call(&world)).await.unwrap_err();
    assert_eq!((world.service.seen(), world.breaker.snapshot().probes), ((2, 2), 0));
}

/// Polls a call until it panics. Either the panic unwinds through the owner of the call and drops
/// it, or the panic is caught around the poll and the call is dropped later.
async fn panicked(call: impl Future, unwinds: bool) {
    let mut call = Some(Box::pin(call));
    let panicked = poll_fn(|cx| {
        let mut owned = call.take().expect("it has not panicked");
        let polled = if unwinds {
            catch_unwind(AssertUnwindSafe(move || {
                let polled = owned.as_mut().poll(cx);
                (owned, polled)
            }))
        } else {
            catch_unwind(AssertUnwindSafe(|| owned.as_mut().poll(cx))).map(|polled| (owned, polled))
        };
        match polled {
            Ok((owned, polled)) => {
                call = Some(owned);
                polled.map(|_| false)
            }
            Err(_) => Poll::Ready(true),
        }
    });
    assert!(panicked.await, "it ends by a panic");
}

#[tokio::test(start_paused = true)]
async fn a_panic_counts_once_however_many_run() {
    const CROWDED: Policy = policy!(attempts = 2, hedge(after = "200ms", max = 2));

    let panicking = (millis(100), Ok(PANIC));
    for script in [
        [(millis(500), Ok(PANIC)), (SLOW, Ok(2)), (SLOW, Ok(3))],
        [(SLOW, Ok(1)), (SLOW, Ok(2)), panicking],
    ] {
        for unwinds in [false, true] {
            let world = World::new(CROWDED, BreakerConfig::new(), script.clone());
            panicked(call(&world), unwinds).await;
            let snapshot = world.breaker.snapshot();
            let counted = (snapshot.consecutive_failures, snapshot.outcomes.forgiven);
            assert_eq!(counted, (1, 2), "{unwinds}");
        }
    }

    #[retry(hedge = "10ms", breaker = breaker, retry_on = [when(|_| panic!("a matcher panics"))])]
    async fn judged(calls: &Calls, breaker: &CircuitBreaker) -> Result<u32, Failure> {
        if calls.make() == 1 {
            sleep(millis(20)).await;
            return Err(Failure::Corrupt);
        }
        pending().await
    }
    let breaker = CircuitBreaker::new("judged", BreakerConfig::new());
    panicked(judged(&Calls::new(), &breaker), false).await;
    assert_eq!(breaker.snapshot().consecutive_failures, 1, "of two members");
}

#[tokio::test(start_paused = true)]
async fn a_matcher_judges_each_outcome_once() {
    let busy = |call| (millis(300), Err(Failure::Busy(call)));
    for (script, asked) in
        [([busy(1), busy(2)], 2), ([(SLOW, Ok(1)), (millis(50), Err(Failure::Corrupt))], 1)]
    {
        let world = World::new(ONCE, BreakerConfig::new(), script);
        call(&world).await.unwrap_err();
        assert_eq!(world.asked.made(), asked);
    }

    #[retry(attempts = 1, hedge = "10ms", retry_on = [ok(|_| judged.make() == 1)])]
    async fn poll(calls: &Calls, judged: &Calls) -> Option<u32> {
        calls.make();
        sleep(millis(20)).await;
        Some(7)
    }
    let (calls, judged) = (Calls::new(), Calls::new());
    assert_eq!(poll(&calls, &judged).await, Some(7));
    assert_eq!((calls.made(), judged.made()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_hedge_that_was_refused_is_not_tried_again() {
    #[retry(hedge = "200ms", quota = out)]
    async fn fetch(service: &Service, out: &RetryQuota) -> Result<u32, Failure> {
        service.call().await
    }
    let out = RetryQuota::new("out", QuotaConfig::new().capacity(10));
    while out.try_acquire(Class::empty()).is_some() {}
    let service = Service::of([(secs(1), Ok(1))]);
    let filled = async {
        sleep(millis(300)).await;
        out.reset();
    };
    let (outcome, ()) = tokio::join!(fetch(&service, &out), filled);
    assert_eq!((outcome, service.seen()), (Ok(1), (1, 0)));
}

/// Advances the paused clock during a call: it does not advance by itself while a task is ready.
async fn with_a_clock_that_runs<T>(call: impl Future<Output = T>) -> T {
    let clock = tokio::spawn(async {
        loop {
            advance(millis(1)).await;
        }
    });
    let ended = call.await;
    clock.abort();
    ended
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_always_ready_is_hedged_and_does_not_starve_its_hedge() {
    for script in [
        [(Duration::ZERO, Ok(BUSY)), (Duration::ZERO, Ok(2))],
        [(millis(210), Ok(BUSY)), (millis(20), Ok(2))],
    ] {
        let world = World::new(ONCE, BreakerConfig::new(), script);
        assert_eq!(with_a_clock_that_runs(call(&world)).await.ok(), Some(2));
    }
}
