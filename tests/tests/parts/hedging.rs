//! Hedged attempts beside a naive model: random calls that take a while and then succeed, fail or
//! fail for good, through the attribute and through a retrier. And what they take is given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use retry_runtime::retrier::ForError;
use retry_runtime::{
    Backoff, BreakerConfig, CircuitBreaker, Policy, QuotaConfig, Retrier, RetryError, RetryQuota,
    retry,
};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, timeout};

const WAIT: Duration = Duration::from_millis(70);

/// The end of a call of the service.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Success,
    Busy,
    Corrupt,
}

/// The results of the service's calls, in their order.
#[derive(Clone, Copy, Debug)]
struct Scripted {
    takes: Duration,
    answer: Answer,
}

fn scripted() -> impl Strategy<Value = Vec<Scripted>> {
    let answer = prop_oneof![
        3 => Just(Answer::Success),
        4 => Just(Answer::Busy),
        1 => Just(Answer::Corrupt),
    ];
    let calls = vec((0_u64..60, answer), 12);
    calls.prop_map(|calls| {
        let scripted = calls.into_iter().enumerate().map(|(at, (tens, answer))| {
            // No two calls end at the same time, nor when another one begins.
            let takes = Duration::from_millis(tens * 20 + 1 + at as u64);
            Scripted { takes, answer }
        });
        scripted.collect()
    })
}

#[derive(Clone, Copy, Debug)]
struct Hedges {
    after: Duration,
    max: u32,
    attempts: u32,
}

fn hedges() -> impl Strategy<Value = Hedges> {
    (1_u64..30, 1_u32..4, 1_u32..4).prop_map(|(tens, max, attempts)| Hedges {
        after: Duration::from_millis(tens * 20),
        max,
        attempts,
    })
}

/// The end of a call of the function: the call of the service whose answer it has, the time, and
/// the number of calls of the service.
#[derive(Debug, PartialEq)]
struct Ended {
    answer: Answer,
    by: usize,
    after: Duration,
    calls: usize,
}

/// The model: all that can happen in an attempt, by time.
fn model(script: &[Scripted], hedges: Hedges) -> (Ended, usize) {
    let (mut now, mut calls) = (Duration::ZERO, 0);
    for attempt in 1_u32.. {
        let mut running = vec![(now + script[calls].takes, calls)];
        calls += 1;
        let (mut next, mut begun) = (now + hedges.after, 0);
        let (by, answer) = loop {
            let (at, ended) = *running.iter().min().expect("one runs");
            if begun < hedges.max && next < at {
                running.push((next + script[calls].takes, calls));
                calls += 1;
                begun += 1;
                next += hedges.after;
                continue;
            }
            now = at;
            running.retain(|(_, call)| *call != ended);
            let answer = script[ended].answer;
            if answer != Answer::Busy || running.is_empty() {
                break (ended, answer);
            }
        };
        if answer != Answer::Busy || attempt == hedges.attempts {
            return (Ended { answer, by, after: now, calls }, attempt as usize);
        }
        now += WAIT;
    }
    unreachable!("attempts are limited")
}

/// A service that does what the script says.
struct Service<'s> {
    script: &'s [Scripted],
    calls: AtomicUsize,
}

/// The answer of a call, and which call it was.
#[derive(Clone, Copy, Debug)]
struct Failure(Answer, usize);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} by call {}", self.0, self.1)
    }
}

impl<'s> Service<'s> {
    fn of(script: &'s [Scripted]) -> Self {
        Self { script, calls: AtomicUsize::new(0) }
    }

    async fn call(&self) -> Result<usize, Failure> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let Scripted { takes, answer } = self.script[call];
        sleep(takes).await;
        if answer == Answer::Success { Ok(call) } else { Err(Failure(answer, call)) }
    }

    fn ended(&self, result: Result<usize, Failure>, after: Duration) -> Ended {
        let (answer, by) = match result {
            Ok(by) => (Answer::Success, by),
            Err(Failure(answer, by)) => (answer, by),
        };
        Ended { answer, by, after, calls: self.calls.load(Ordering::Relaxed) }
    }
}

fn on_virtual_time<T>(run: impl AsyncFnOnce() -> T) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run())
}

fn is_corrupt(failure: &Failure) -> bool {
    failure.0 == Answer::Corrupt
}

#[retry(policy = policy, hedge, abort_on = [when(is_corrupt)])]
async fn by_attribute(service: &Service<'_>, policy: &Policy) -> Result<usize, Failure> {
    service.call().await
}

fn policy(hedges: Hedges) -> Policy {
    Policy::new()
        .attempts(hedges.attempts)
        .backoff(Backoff::Fixed)
        .initial_delay(WAIT)
        .hedge(hedges.after)
        .max_hedges(hedges.max)
}

fn retrier(hedges: Hedges) -> Retrier<ForError<Failure>> {
    Retrier::new(policy(hedges)).opaque().when(|failure: &Failure| !is_corrupt(failure))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn attribute_and_retrier_behave_like_the_model(script in scripted(), hedges in hedges()) {
        let (expected, _) = model(&script, hedges);
        let by_attribute = on_virtual_time(async || {
            let (service, start) = (Service::of(&script), Instant::now());
            let result = by_attribute(&service, &policy(hedges)).await;
            service.ended(result, start.elapsed())
        });
        prop_assert_eq!(&by_attribute, &expected);
        let by_retrier = on_virtual_time(async || {
            let (retrier, service, start) = (retrier(hedges), Service::of(&script), Instant::now());
            let result = retrier.run(|| service.call()).await;
            let last = |error: RetryError<Failure>| *error.last().expect("calls fail by themselves");
            service.ended(result.map_err(last), start.elapsed())
        });
        prop_assert_eq!(&by_retrier, &expected);
    }

    #[test]
    fn each_hedge_costs_as_much_as_a_retry(script in scripted(), hedges in hedges()) {
        let (expected, attempts) = model(&script, hedges);
        let spent = on_virtual_time(async || {
            let quota = Arc::new(RetryQuota::new("hedged", QuotaConfig::new().success_refund(0)));
            let service = Service::of(&script);
            let retrier = retrier(hedges).quota(Arc::clone(&quota));
            let _result = retrier.run(|| service.call()).await;
            500 - quota.available()
        });
        // The last retry of a call that succeeds is paid back.
        let paid_back = usize::from(expected.answer == Answer::Success && attempts > 1);
        prop_assert_eq!(spent as usize, 5 * (expected.calls - 1 - paid_back));
    }

    #[test]
    fn a_dropped_call_releases_all_permits(
        script in scripted(),
        hedges in hedges(),
        dropped_after in 1_u64..2_000,
    ) {
        let probes = on_virtual_time(async || {
            let config = BreakerConfig::new()
                .failure_threshold(1)
                .half_open_requests(50)
                .success_threshold(50)
                .timeout(Duration::from_mins(1));
            let breaker = Arc::new(CircuitBreaker::new("hedged", config));
            breaker.try_acquire().expect("it is closed").failure();
            sleep(Duration::from_mins(1)).await;
            let service = Service::of(&script);
            let limit = Duration::from_millis(dropped_after);
            let retrier = retrier(hedges).breaker(Arc::clone(&breaker));
            let call = retrier.run(|| service.call());
            let _dropped = timeout(limit, call).await;
            breaker.snapshot().probes
        });
        prop_assert_eq!(probes, 0);
    }
}

/// A service of which two answers in a hundred are slow.
#[derive(Default)]
struct Tail {
    calls: AtomicUsize,
}

impl Tail {
    async fn call(&self) -> Result<(), Failure> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) as u64;
        // Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
        let mut random = call.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        let usual = 50 + random % 100;
        let is_slow = (random >> 32) % 100 < 2;
        sleep(Duration::from_millis(if is_slow { usual * 20 } else { usual })).await;
        Ok(())
    }
}

#[retry]
async fn not_hedged(service: &Tail) -> Result<(), Failure> {
    service.call().await
}

#[retry(hedge = "200ms")]
async fn after_a_time(service: &Tail) -> Result<(), Failure> {
    service.call().await
}

#[retry(hedge = p95)]
async fn after_a_percentile(service: &Tail) -> Result<(), Failure> {
    service.call().await
}

/// A row of the table: the percentiles of the calls, and how many calls more the service got.
fn measured(label: &str, call: &impl AsyncFn(&Tail) -> Result<(), Failure>) -> String {
    const CALLS: usize = 20_000;

    let service = Tail::default();
    let mut times = on_virtual_time(async || {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let start = Instant::now();
            call(&service).await.expect("every call succeeds");
            times.push(start.elapsed().as_millis());
        }
        times
    });
    times.sort_unstable();
    let percentile = |percent: usize| times[CALLS * percent / 100];
    let more = service.calls.load(Ordering::Relaxed) - CALLS;
    // In tenths of a percent, rounded.
    let more = (more * 1_000 + CALLS / 2) / CALLS;
    let (whole, tenth) = (more / 10, more % 10);
    format!("| {label} | {} ms | {} ms | {whole}.{tenth} % |\n", percentile(50), percentile(99))
}

#[test]
fn the_figures_of_the_guide_match_the_simulation() {
    let guide = include_str!("../../../retry-runtime/src/guide/hedging.md");
    let table = [
        measured("no hedge", &not_hedged),
        measured("`hedge = \"200ms\"`", &after_a_time),
        measured("`hedge = p95`", &after_a_percentile),
    ]
    .concat();
    assert!(guide.contains(&table), "the guide's table is to be:\n{table}");
}
