//! An attempt and its hedges as a group: the outcome that counts, the losers, and the reports to
//! the breaker. Each by function, block, retrier and layer.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use retry_runtime::retrier::ForError;
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, QuotaConfig, Reason, Retrier, RetryError, RetryQuota,
    State, policy, retry, retrying,
};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, advance, sleep};
use tower::{Layer as _, Service as _, service_fn};

use super::{SLOW, Service};
use crate::support::{Calls, Failure, millis, secs};

/// An answer that makes the body panic.
const PANIC: u32 = 13;
/// An answer that makes the body use up tokio's cooperative budget in each poll.
const BUSY: u32 = 17;

type Outcome = Result<u32, RetryError<Failure>>;
type Called<'w> = Pin<Box<dyn Future<Output = Outcome> + Send + 'w>>;

/// The policy, breaker and service of a call.
struct World {
    policy: Policy,
    breaker: Arc<CircuitBreaker>,
    service: Service,
    /// The calls of the predicate.
    asked: Calls,
}

impl World {
    fn new<const N: usize>(
        policy: Policy,
        breaker: BreakerConfig,
        script: [(Duration, Result<u32, Failure>); N],
    ) -> Arc<Self> {
        let breaker = Arc::new(CircuitBreaker::new("world", breaker));
        Arc::new(Self { policy, breaker, service: Service::of(script), asked: Calls::new() })
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

    fn retrier(self: &Arc<Self>) -> Retrier<ForError<Failure>> {
        let world = Arc::clone(self);
        Retrier::new(self.policy)
            .opaque()
            .when(move |failure: &Failure| world.is_retried(failure))
            .retry_after(Failure::wait)
            .breaker(Arc::clone(&self.breaker))
            .history(9)
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
async fn function(world: &World) -> Result<u32, RetryError<Failure>> {
    world.attempt().await
}

fn by_function(world: &Arc<World>) -> Called<'_> {
    Box::pin(function(world))
}

fn by_block(world: &Arc<World>) -> Called<'_> {
    Box::pin(retrying!(
        name = "hedge.group",
        policy = world.policy,
        hedge,
        retry_on = [when(|failure| world.is_retried(failure))],
        retry_after = Failure::wait,
        breaker = world.breaker,
        history = 9,
        async |_| -> Result<u32, RetryError<Failure>> { world.attempt().await }
    ))
}

/// The future of the retrier itself, not of a block that drops it when it is ready.
fn by_retrier(world: &Arc<World>) -> Called<'_> {
    let retrier: &Retrier<_> = Box::leak(Box::new(world.retrier()));
    Box::pin(retrier.run(|| world.attempt()).into_future())
}

fn by_layer(world: &Arc<World>) -> Called<'_> {
    let called = Arc::clone(world);
    let inner = service_fn(move |()| {
        let world = Arc::clone(&called);
        async move { world.attempt().await }
    });
    Box::pin(RetryLayer::new(world.retrier()).layer(inner).call(()))
}

type Way = fn(&Arc<World>) -> Called<'_>;

const WAYS: [(&str, Way); 4] =
    [("function", by_function), ("block", by_block), ("retrier", by_retrier), ("layer", by_layer)];

/// Makes a call in every way, each in a new world, and checks the world before the future is
/// dropped.
async fn every_way(world: impl Fn() -> Arc<World>, check: impl Fn(&str, &World, Outcome)) {
    for (way, call) in WAYS {
        let world = world();
        let mut call = call(&world);
        let outcome = call.as_mut().await;
        check(way, &world, outcome);
    }
}

const ONCE: Policy = policy!(attempts = 1, hedge = "200ms");
const TWICE: Policy = policy!(attempts = 2, initial_delay = "1s", hedge = "200ms");

#[tokio::test(start_paused = true)]
async fn a_failure_is_retried_although_the_timeout_ended_the_hedge_that_hung() {
    let world = || {
        let script = [(millis(300), Err(Failure::Busy(1))), (SLOW, Ok(2)), (millis(1), Ok(3))];
        World::new(TWICE.timeout(secs(2)), BreakerConfig::new(), script)
    };
    let start = Instant::now();
    every_way(world, |way, world, outcome| {
        assert_eq!(outcome.ok(), Some(3), "{way}");
        assert_eq!(world.service.seen(), (3, 1), "{way}");
    })
    .await;
    assert_eq!(start.elapsed(), 4 * millis(2_000 + 1_000 + 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_last_hedge_hung_ends_with_the_failure() {
    let script = || [(millis(300), Err(Failure::Busy(1))), (SLOW, Ok(2))];
    let timed = || World::new(ONCE.timeout(secs(2)), BreakerConfig::new(), script());
    every_way(timed, |way, _, outcome| {
        let error = outcome.unwrap_err();
        let ended = (error.reason(), error.attempts(), error.last());
        assert_eq!(ended, (Reason::Attempts, 1, Some(&Failure::Busy(1))), "{way}");
    })
    .await;
    let bounded = || World::new(TWICE.deadline(secs(2)), BreakerConfig::new(), script());
    every_way(bounded, |way, _, outcome| {
        let error = outcome.unwrap_err();
        let ended = (error.reason(), error.attempts(), error.last());
        assert_eq!(ended, (Reason::Deadline, 1, Some(&Failure::Busy(1))), "{way}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_hedge_that_hangs_counts_as_a_failure_of_the_server_when_the_timeout_ends_it() {
    let world = || {
        let script = [(millis(300), Err(Failure::Busy(1))), (SLOW, Ok(2))];
        World::new(ONCE.timeout(secs(2)), BreakerConfig::new(), script)
    };
    every_way(world, |way, world, _| {
        assert_eq!(world.breaker.snapshot().consecutive_failures, 2, "{way}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_longest_retry_after_of_a_group_counts() {
    let world = || {
        let script = [
            (millis(300), Err(Failure::SlowDown(secs(5)))),
            (millis(300), Err(Failure::Busy(2))),
            (millis(1), Ok(3)),
        ];
        World::new(TWICE, BreakerConfig::new(), script)
    };
    every_way(world, |way, world, outcome| {
        assert_eq!(outcome.ok(), Some(3), "{way}");
        assert_eq!(world.service.calls.gaps(), [millis(200), millis(5_300)], "{way}");
    })
    .await;
}

/// Calls in every way, and checks the number, text and wait of each failure in the history.
async fn remembers<const N: usize>(
    policy: Policy,
    script: &[(Duration, Result<u32, Failure>)],
    history: [(u32, &str, Option<Duration>); N],
) {
    let world = || {
        let script = [script[0].clone(), script[1].clone(), script[script.len() - 1].clone()];
        World::new(policy, BreakerConfig::new(), script)
    };
    every_way(world, |way, _, outcome| {
        let error = outcome.unwrap_err();
        let kept = error.history().iter().map(|it| (it.number(), it.text(), it.wait()));
        assert_eq!(kept.collect::<Vec<_>>(), history, "{way}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_member_that_failed_is_in_the_history() {
    let busy = |takes, call| (millis(takes), Err(Failure::Busy(call)));
    let (one, two, three) = ("busy at call 1", "busy at call 2", "busy at call 3");
    let waited = Some(secs(1));

    remembers(ONCE, &[busy(300, 1), busy(300, 2)], [(1, one, None), (1, two, None)]).await;
    // The hedge fails first, and the attempt that it joined ends the group.
    remembers(ONCE, &[busy(300, 1), busy(50, 2)], [(1, two, None), (1, one, None)]).await;
    let script = [busy(300, 1), busy(300, 2), busy(1, 3)];
    remembers(TWICE, &script, [(1, one, None), (1, two, waited), (2, three, None)]).await;
    let is_final = [busy(300, 1), (millis(200), Err(Failure::Corrupt))];
    remembers(TWICE, &is_final, [(1, one, None), (1, "corrupt", None)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_was_dropped_is_not_in_the_history() {
    let is_final = [(SLOW, Ok(1)), (millis(50), Err(Failure::Corrupt))];
    remembers(TWICE, &is_final, [(1, "corrupt", None)]).await;
    let hangs = [(millis(300), Err(Failure::Busy(1))), (SLOW, Ok(2))];
    remembers(ONCE.timeout(secs(2)), &hangs, [(1, "busy at call 1", None)]).await;
    remembers(TWICE.deadline(secs(2)), &hangs, [(1, "busy at call 1", None)]).await;
}

/// Opens the breaker of a world, and waits until it admits probes.
async fn half_open(world: Arc<World>) -> Arc<World> {
    let breaker = &world.breaker;
    breaker.try_acquire().unwrap().failure();
    sleep(breaker.remaining()).await;
    world
}

#[tokio::test(start_paused = true)]
async fn losers_and_their_probes_are_gone_when_the_call_returns() {
    let breaker = BreakerConfig::new().failure_threshold(1).success_threshold(2);
    for (way, call) in WAYS {
        let script = [(SLOW, Ok(1)), (millis(50), Ok(2))];
        let world = half_open(World::new(TWICE, breaker, script)).await;
        let mut call = call(&world);
        assert_eq!(call.as_mut().await.ok(), Some(2), "{way}");
        assert_eq!(world.service.seen(), (2, 1), "{way}");
        let snapshot = world.breaker.snapshot();
        let probes = (snapshot.state, snapshot.probes, snapshot.probe_successes);
        assert_eq!(probes, (State::HalfOpen, 0, 1), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_loser_counts_before_the_success_of_the_winner() {
    let breaker =
        BreakerConfig::new().failure_threshold(1).success_threshold(1).slow_calls(millis(100), 1.0);
    for (way, call) in WAYS {
        let script = [(SLOW, Ok(1)), (millis(50), Ok(2))];
        let world = half_open(World::new(TWICE, breaker, script)).await;
        let mut call = call(&world);
        assert_eq!(call.as_mut().await.ok(), Some(2), "{way}");
        assert_eq!(world.breaker.state(), State::Open, "{way}: a slow probe opens it again");
    }
}

/// Polls a call until it panics. Either the panic unwinds through the owner of the call and drops
/// it, or the panic is caught around the poll and the call is dropped later.
async fn panicked(call: Called<'_>, unwinds: bool) {
    let mut call = Some(call);
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

    let breaker = BreakerConfig::new().failure_threshold(3);
    let panicking = (millis(100), Ok(PANIC));
    for script in [
        [(millis(500), Ok(PANIC)), (SLOW, Ok(2)), (SLOW, Ok(3))],
        [(SLOW, Ok(1)), (SLOW, Ok(2)), panicking],
    ] {
        for (way, call) in WAYS {
            for unwinds in [false, true] {
                let world = World::new(CROWDED, breaker, script.clone());
                panicked(call(&world), unwinds).await;
                let snapshot = world.breaker.snapshot();
                let counted = (snapshot.consecutive_failures, snapshot.outcomes.forgiven);
                assert_eq!(counted, (1, 2), "{way}, {unwinds}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_failure_of_a_group_is_judged_once() {
    let all_fail = || {
        let script = [(millis(300), Err(Failure::Busy(1))), (millis(300), Err(Failure::Busy(2)))];
        World::new(ONCE, BreakerConfig::new(), script)
    };
    every_way(all_fail, |way, world, outcome| {
        assert!(outcome.is_err(), "{way}");
        assert_eq!(world.asked.made(), 2, "{way}");
    })
    .await;
    let is_final = || {
        let script = [(SLOW, Ok(1)), (millis(50), Err(Failure::Corrupt))];
        World::new(TWICE, BreakerConfig::new(), script)
    };
    every_way(is_final, |way, world, outcome| {
        assert!(outcome.is_err(), "{way}");
        assert_eq!(world.asked.made(), 1, "{way}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_value_is_judged_once() {
    let service = Service::of([(millis(1), Ok(0))]);
    let asked = Arc::new(Calls::new());
    let judges = Arc::clone(&asked);
    let policy = Policy::new().attempts(3);
    let retrier = Retrier::new(policy).opaque().retry_on_value(move |value: &u32| {
        judges.make();
        *value == 0
    });
    assert_eq!(retrier.run(|| service.call()).await.ok(), Some(0));
    assert_eq!((service.seen().0, asked.made()), (3, 3), "retrier");

    let service = Arc::new(service);
    let inner = service_fn(move |()| {
        let service = Arc::clone(&service);
        async move { service.call().await }
    });
    assert_eq!(RetryLayer::new(retrier).layer(inner).call(()).await.ok(), Some(0));
    assert_eq!(asked.made(), 6, "layer");
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
async fn an_attempt_that_is_always_ready_is_hedged() {
    let world = || {
        let script = [(Duration::ZERO, Ok(BUSY)), (Duration::ZERO, Ok(2))];
        World::new(ONCE, BreakerConfig::new(), script)
    };
    let check = |way: &str, _: &World, outcome: Outcome| assert_eq!(outcome.ok(), Some(2), "{way}");
    with_a_clock_that_runs(every_way(world, check)).await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_always_ready_does_not_starve_its_hedge() {
    let world = || {
        let script = [(millis(210), Ok(BUSY)), (millis(20), Ok(2))];
        World::new(ONCE, BreakerConfig::new(), script)
    };
    let check = |way: &str, _: &World, outcome: Outcome| assert_eq!(outcome.ok(), Some(2), "{way}");
    with_a_clock_that_runs(every_way(world, check)).await;
}

/// A service whose clones are never ready.
struct Original {
    service: Arc<Service>,
    is_clone: bool,
}

impl Clone for Original {
    fn clone(&self) -> Self {
        Self { service: Arc::clone(&self.service), is_clone: true }
    }
}

impl tower::Service<()> for Original {
    type Response = u32;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(if self.is_clone { Err(Failure::Corrupt) } else { Ok(()) })
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let service = Arc::clone(&self.service);
        Box::pin(async move { service.call().await })
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_of_an_unready_service_leaves_retries_to_the_attempt() {
    let service = Arc::new(Service::of([(millis(300), Err(Failure::Busy(1))), (millis(1), Ok(2))]));
    let retrier = Retrier::new(TWICE).opaque();
    let original = Original { service: Arc::clone(&service), is_clone: false };
    let outcome = RetryLayer::new(retrier).layer(original).call(()).await;
    assert_eq!(outcome.ok(), Some(2));
    assert_eq!(service.calls.gaps(), [millis(1_300)]);
}

#[tokio::test(start_paused = true)]
async fn a_hedge_of_a_request_that_cannot_be_cloned_takes_nothing_from_the_share() {
    const FREE: usize = 10;

    let quota = Arc::new(RetryQuota::new("shared", QuotaConfig::new().share(0.1)));
    let retrier = Retrier::new(TWICE).opaque().quota(Arc::clone(&quota));
    let has_been_cloned = AtomicBool::new(false);
    let layer = RetryLayer::new(retrier)
        // The first attempt takes the only clone, so a hedge has none.
        .clone_request(move |(): &()| (!has_been_cloned.swap(true, Relaxed)).then_some(()));
    let service = Arc::new(Service::of([(secs(1), Ok(1))]));
    let called = Arc::clone(&service);
    let inner = service_fn(move |()| {
        let service = Arc::clone(&called);
        async move { service.call().await }
    });
    let outcome: Result<u32, RetryError<Failure>> = layer.layer(inner).call(()).await;
    assert_eq!((outcome.ok(), service.seen()), (Some(1), (1, 0)));
    let left = std::iter::from_fn(|| quota.try_acquire(retry_runtime::Class::empty()));
    assert_eq!(left.count(), FREE);
}

#[tokio::test(start_paused = true)]
async fn a_percentile_learns_from_attempts_that_are_cut_off() {
    #[retry(attempts = 1, hedge = p95, timeout = "1s")]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    for _ in 0..100 {
        fetch(&Service::of([(millis(100), Ok(1))])).await.unwrap();
    }
    let hangs = || Service::of([(SLOW, Ok(1))]);
    let service = hangs();
    fetch(&service).await.unwrap_err();
    assert_eq!(service.seen().0, 2, "it is hedged after 100 ms");
    for _ in 0..300 {
        fetch(&hangs()).await.unwrap_err();
    }
    let service = hangs();
    fetch(&service).await.unwrap_err();
    assert_eq!(service.seen().0, 1, "every attempt takes as long as the timeout");
}
