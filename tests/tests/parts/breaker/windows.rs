//! The windows of rates: their counts are exact, whatever the traffic, the pauses or the threads.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use retry_runtime::{BreakerConfig, Cause, CircuitBreaker, Permit, State};
use tokio::time::{Instant, advance};

use super::{DEFAULT, MILLI, TIMEOUT, breaker, fail, log_of, succeed};

const SECOND: Duration = Duration::from_secs(1);
/// A window of ten seconds, with slices of one second.
const TEN_SECONDS: BreakerConfig = DEFAULT.failure_rate(0.5).window_time(Duration::from_secs(10));

/// The number of failures until it is open; `None` if `limit` of them do not open it.
fn failures_to_open(breaker: &CircuitBreaker, limit: u32) -> Option<u32> {
    (1..=limit).find(|_| {
        breaker.try_acquire().expect("admitted").failure();
        breaker.state() == State::Open
    })
}

#[test]
fn ten_thousand_successes_do_not_need_ten_thousand_failures() {
    let breaker = breaker(DEFAULT.failure_rate(0.5));
    succeed(&breaker, 10_000);
    assert_eq!(breaker.snapshot().calls, 100);
    fail(&breaker, 49);
    assert_eq!(breaker.state(), State::Closed);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.snapshot().failures, 50);
}

#[test]
fn old_failures_leave_the_window_of_calls() {
    let breaker = breaker(DEFAULT.failure_rate(0.5).window_calls(10).minimum_calls(10));
    for _ in 0..100 {
        fail(&breaker, 4);
        succeed(&breaker, 6);
        assert_eq!(breaker.snapshot().failures, 4);
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn consecutive_failures_or_a_rate_whichever_is_first() {
    let either = DEFAULT.failure_threshold(4).failure_rate(0.5).minimum_calls(10);
    for config in [either, either.slow_calls(TIMEOUT, 1.0), either.window_time(TIMEOUT)] {
        let by_streak = breaker(config);
        let log = log_of(&by_streak);
        succeed(&by_streak, 1_000);
        fail(&by_streak, 3);
        succeed(&by_streak, 1);
        assert_eq!(by_streak.snapshot().consecutive_failures, 0);
        fail(&by_streak, 3);
        assert_eq!(by_streak.state(), State::Closed);
        fail(&by_streak, 1);
        assert_eq!(by_streak.snapshot().consecutive_failures, 4);
        assert_eq!(log.lock().unwrap()[0].cause, Cause::Failures);

        let by_rate = breaker(config);
        let log = log_of(&by_rate);
        for _ in 0..5 {
            succeed(&by_rate, 1);
            fail(&by_rate, 1);
        }
        assert_eq!(log.lock().unwrap()[0].cause, Cause::FailureRate);

        by_rate.reset();
        fail(&by_rate, 3);
        assert_eq!(by_rate.state(), State::Closed, "a streak starts over");
    }
}

#[test]
fn no_rate_counts_below_the_minimum() {
    let breaker = breaker(DEFAULT.failure_rate(0.1));
    fail(&breaker, 9);
    assert_eq!(breaker.state(), State::Closed);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn late_results_do_not_enter_a_window() {
    for config in [DEFAULT.window_calls(100), DEFAULT.window_time(TIMEOUT * 100)] {
        let breaker = breaker(config.failure_rate(1.0).minimum_calls(1));
        let late: Vec<_> = (0..10).map(|_| breaker.try_acquire().unwrap()).collect();
        breaker.reset();
        succeed(&breaker, 1);
        for permit in late {
            permit.failure();
        }
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.calls, snapshot.failures), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_window_starts_empty_after_recovery() {
    for config in [DEFAULT.window_calls(100), DEFAULT.window_time(TIMEOUT * 100)] {
        let breaker = breaker(config.failure_rate(0.5).success_threshold(1));
        fail(&breaker, 10);
        assert_eq!(breaker.snapshot().failures, 10, "what opened it is still seen");
        advance(TIMEOUT).await;
        succeed(&breaker, 1);
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(breaker.snapshot().calls, 0);
        fail(&breaker, 9);
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn old_calls_leave_the_window_of_time() {
    let breaker = breaker(DEFAULT.failure_rate(0.5).window_time(Duration::from_secs(10)));
    succeed(&breaker, 10_000);
    advance(Duration::from_secs(10)).await;
    assert_eq!(breaker.snapshot().calls, 0);
    fail(&breaker, 9);
    advance(Duration::from_secs(8)).await;
    assert_eq!(breaker.snapshot().failures, 9, "within nine tenths of the window");
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_time_window_does_not_reject_permanently() {
    let config = DEFAULT.failure_rate(0.5).window_time(Duration::from_secs(10));
    let breaker = breaker(config.success_threshold(5).half_open_requests(2));
    fail(&breaker, 10);
    advance(TIMEOUT).await;
    for _ in 0..5 {
        // Each call is older than the window when the next one begins.
        succeed(&breaker, 1);
        advance(Duration::from_secs(20)).await;
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn slow_calls_open_it() {
    let limit = Duration::from_millis(100);
    for config in [DEFAULT.window_calls(100), DEFAULT.window_time(TIMEOUT)] {
        let breaker = breaker(config.slow_calls(limit, 0.5).minimum_calls(4));
        let log = log_of(&breaker);
        for extra in [0, 0, 1, 1] {
            assert_eq!(breaker.state(), State::Closed);
            let permit = breaker.try_acquire().unwrap();
            advance(limit + Duration::from_millis(extra)).await;
            permit.success();
        }
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(breaker.snapshot().slow_calls, 2);
        assert_eq!(log.lock().unwrap()[0].cause, Cause::SlowRate);

        advance(TIMEOUT).await;
        let probe = breaker.try_acquire().unwrap();
        advance(limit * 2).await;
        probe.success();
        assert_eq!(log.lock().unwrap().last().unwrap().cause, Cause::ProbeSlow);
    }
}

#[test]
fn windows_of_many_threads_keep_count() {
    for config in [DEFAULT.window_calls(64), DEFAULT.window_time(TIMEOUT * 100)] {
        let breaker = breaker(config.failure_rate(1.0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..4_000 {
                        let permit = breaker.try_acquire().expect("never opens");
                        if i % 4 == 0 { permit.failure() } else { permit.success() }
                    }
                });
            }
        });
        let snapshot = breaker.snapshot();
        assert!(snapshot.calls >= 64, "{snapshot:?}");
        succeed(&breaker, 64);
        if config == DEFAULT.window_calls(64) {
            assert_eq!(breaker.snapshot().failures, 0);
            fail(&breaker, 63);
            assert_eq!(breaker.state(), State::Closed);
            fail(&breaker, 1);
            assert_eq!(breaker.state(), State::Open);
        }
    }
}

/// An implementation that identifies slices by a few bits of their number could let old slices hide
/// new failures, or count among them, after a pause of some length.
#[tokio::test(start_paused = true)]
async fn a_time_window_sees_after_any_silence() {
    for idle in
        [1, 9, 100, 3_600, 32_760, 33_000, 50_000, 65_530, 65_536, 65_540, 1_000_000, 4_000_000]
    {
        let breaker = CircuitBreaker::new(
            "idle",
            BreakerConfig::new()
                .failure_rate(0.5)
                .window_time(Duration::from_secs(10))
                .minimum_calls(5),
        );
        for _ in 0..10 {
            breaker.try_acquire().expect("all is well").success();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::time::advance(Duration::from_secs(idle)).await;
        let mut failures = 0;
        while let Ok(permit) = breaker.try_acquire() {
            permit.failure();
            failures += 1;
            assert!(failures <= 20, "after {idle} s of silence it does not open");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let fresh = idle >= 10;
        assert!(!fresh || failures == 5, "after {idle} s of silence it took {failures} failures");
    }
}

#[tokio::test(start_paused = true)]
async fn many_good_calls_do_not_hide_more_bad_ones() {
    let breaker = breaker(TEN_SECONDS);
    for _ in 0..500 {
        succeed(&breaker, 40);
        advance(MILLI * 10).await;
    }
    let mut failures = 0;
    for _ in 0..400 {
        match failures_to_open(&breaker, 200) {
            Some(last) => {
                failures += last;
                break;
            }
            None => failures += 200,
        }
        advance(MILLI * 10).await;
    }
    assert_eq!(failures, 20_000, "half of 40,000 calls failed then");
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state, snapshot.calls), (State::Open, 40_000));
}

#[tokio::test(start_paused = true)]
async fn few_failures_among_many_calls_do_not_open_it() {
    let breaker = breaker(TEN_SECONDS);
    succeed(&breaker, 200_000);
    fail(&breaker, 15_680);
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.calls, snapshot.failures), (215_680, 15_680));
    assert_eq!(snapshot.state, State::Closed, "7.3 % failed");
}

#[tokio::test(start_paused = true)]
async fn no_minimum_is_lowered() {
    for minimum in [5_000, 10_000, 100_000] {
        let breaker = breaker(TEN_SECONDS.minimum_calls(minimum));
        assert_eq!(failures_to_open(&breaker, 200_000), Some(minimum));
    }
    let breaker = breaker(TEN_SECONDS.minimum_calls(u32::MAX));
    assert_eq!(failures_to_open(&breaker, 200_000), None);
}

#[tokio::test(start_paused = true)]
async fn old_calls_expire_after_any_silence() {
    // An earlier window identified its slices by 22 bits of their number and mistook old ones for
    // new; the one before that dropped new ones.
    let round = 1 << 22;
    for silence in [10, 100, 1_000, 1 << 16, 1 << 20].into_iter().chain(round - 165..=round + 15) {
        let breaker = breaker(TEN_SECONDS.minimum_calls(5));
        fail(&breaker, 4);
        succeed(&breaker, 5);
        advance(SECOND * silence).await;
        assert_eq!(breaker.snapshot().calls, 0, "after {silence} s");
        assert_eq!(failures_to_open(&breaker, 10), Some(5), "after {silence} s");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_shows_the_window_that_opened_it() {
    for config in [TEN_SECONDS, DEFAULT.failure_rate(0.5).window_calls(10)] {
        let breaker = breaker(config.timeout(TIMEOUT));
        let late = breaker.try_acquire().unwrap();
        succeed(&breaker, 4);
        advance(SECOND * 3).await;
        fail(&breaker, 6);
        let opened = breaker.snapshot();
        assert_eq!((opened.calls, opened.failures), (10, 6));

        late.failure();
        for _ in 0..4 {
            advance(TIMEOUT / 2).await;
            let later = breaker.snapshot();
            assert_eq!((later.calls, later.failures), (10, 6), "{config:?}");
        }
        let probe = breaker.try_acquire().expect("its time is up");
        let probing = breaker.snapshot();
        assert_eq!((probing.state, probing.calls), (State::HalfOpen, 10));
        probe.failure();
        assert_eq!((breaker.snapshot().calls, breaker.snapshot().failures), (10, 6));
        breaker.reset();
        assert_eq!(breaker.snapshot().calls, 0);
    }
}

#[test]
fn threads_lose_no_call() {
    for config in [DEFAULT.window_calls(65_536), DEFAULT.window_time(TIMEOUT * 100)] {
        let breaker = breaker(config.failure_rate(0.9));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..4_000 {
                        let permit = breaker.try_acquire().expect("never opens");
                        if i % 4 == 0 { permit.success() } else { permit.failure() }
                    }
                });
            }
        });
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.calls, snapshot.failures), (16_000, 12_000));
    }
}

/// The expected counts, computed in the simplest way: keeps all calls, and looks at all of them
/// each time.
struct Naive {
    config: BreakerConfig,
    /// Since it was last closed: when, failed, slow.
    calls: Vec<(Instant, bool, bool)>,
    generation: u32,
    /// The counts when it opened.
    opened: Option<[u64; 3]>,
}

impl Naive {
    fn new(config: BreakerConfig) -> Self {
        Self { config, calls: Vec::new(), generation: 0, opened: None }
    }

    fn reset(&mut self) {
        self.calls.clear();
        self.generation += 1;
        self.opened = None;
    }

    fn report(&mut self, generation: u32, failed: bool, took: Duration) {
        if self.opened.is_some() || generation != self.generation {
            return;
        }
        let (rate, slow_calls) = (self.config.get_failure_rate(), self.config.get_slow_calls());
        let slow = slow_calls.is_some_and(|slow| took > slow.longer_than());
        self.calls.push((Instant::now(), failed, slow));
        let counted = self.counts();
        let [calls, failures, slows] = counted;
        #[expect(clippy::cast_precision_loss, reason = "a test has few calls")]
        let reaches = |part: u64, rate: f64| part as f64 / calls as f64 >= rate;
        let opens = rate.is_some_and(|rate| reaches(failures, rate))
            || slow_calls.is_some_and(|slow| reaches(slows, slow.rate()));
        if (failed || slow) && calls >= u64::from(self.config.get_minimum_calls()) && opens {
            self.opened = Some(counted);
            self.generation += 1;
        }
    }

    fn counts(&self) -> [u64; 3] {
        if let Some(opened) = self.opened {
            return opened;
        }
        let mut counts = [0; 3];
        for &(_, failed, slow) in self.in_window() {
            counts[0] += 1;
            counts[1] += u64::from(failed);
            counts[2] += u64::from(slow);
        }
        counts
    }

    fn in_window(&self) -> &[(Instant, bool, bool)] {
        let calls = &self.calls[..];
        let span = match self.config.get_window() {
            retry_runtime::Window::Calls(most) => {
                return &calls[calls.len().saturating_sub(most as usize)..];
            }
            retry_runtime::Window::Time(span) => span,
            _ => unreachable!("another kind of window"),
        };
        let now = Instant::now();
        // A slice is a tenth of the span, starting with its first call, and expires as a whole.
        let (mut begins, mut first) = (None, calls.len());
        for (i, &(at, ..)) in calls.iter().enumerate() {
            if begins.is_none_or(|begin| at - begin >= span / 10) {
                begins = Some(at);
            }
            if begins.is_some_and(|begin| now - begin < span) {
                first = i;
                break;
            }
        }
        let (old, counted) = calls.split_at(first);
        assert!(old.iter().all(|(at, ..)| now - *at >= span / 10 * 9), "nine tenths at least");
        assert!(counted.iter().all(|(at, ..)| now - *at < span), "no more than the span");
        counted
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call {
        failed: bool,
    },
    /// A call begins; a later `End` ends it.
    Begin,
    End {
        which: prop::sample::Index,
        failed: bool,
    },
    Advance(Duration),
    Reset,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any::<bool>().prop_map(|failed| Step::Call { failed }),
        6 => prop::bool::weighted(0.1).prop_map(|failed| Step::Call { failed }),
        4 => Just(Step::Begin),
        4 => any::<(prop::sample::Index, bool)>().prop_map(|(which, failed)| Step::End { which, failed }),
        8 => (0..300_u64).prop_map(|millis| Step::Advance(Duration::from_millis(millis))),
        2 => (0..100_000_000_u64).prop_map(|secs| Step::Advance(Duration::from_secs(secs))),
        1 => Just(Step::Reset),
    ]
}

prop_compose! {
    fn any_config()(
        rate in prop::sample::select(vec![0.1, 0.3, 0.5, 0.7, 1.0]),
        slow in prop::option::of((1..200_u64, prop::sample::select(vec![0.2, 0.5, 1.0]))),
        calls in any::<bool>(),
        size in 1..40_u32,
        minimum in 1..40_u32,
    ) -> BreakerConfig {
        let mut config = DEFAULT.failure_rate(rate).timeout(Duration::MAX);
        if let Some((millis, rate)) = slow {
            config = config.slow_calls(Duration::from_millis(millis), rate);
        }
        if calls {
            config.window_calls(size).minimum_calls(minimum.min(size))
        } else {
            config.window_time(MILLI * 50 * size).minimum_calls(minimum)
        }
    }
}

async fn agrees(config: BreakerConfig, steps: &[Step]) -> Result<(), TestCaseError> {
    let (breaker, mut naive) = (breaker(config), Naive::new(config));
    let mut under_way: Vec<(Permit<'_>, u32, Instant)> = Vec::new();
    for &step in steps {
        match step {
            Step::Call { .. } | Step::Begin => {
                let permit = breaker.try_acquire();
                prop_assert_eq!(permit.is_ok(), naive.opened.is_none());
                let Ok(permit) = permit else { continue };
                let Step::Call { failed } = step else {
                    under_way.push((permit, naive.generation, Instant::now()));
                    continue;
                };
                if failed {
                    permit.failure();
                } else {
                    permit.success();
                }
                naive.report(naive.generation, failed, Duration::ZERO);
            }
            Step::End { which, failed } if !under_way.is_empty() => {
                let (permit, generation, begun) =
                    under_way.swap_remove(which.index(under_way.len()));
                if failed {
                    permit.failure();
                } else {
                    permit.success();
                }
                naive.report(generation, failed, begun.elapsed());
            }
            Step::End { .. } => {}
            Step::Advance(time) => advance(time).await,
            Step::Reset => {
                breaker.reset();
                naive.reset();
            }
        }
        let snapshot = breaker.snapshot();
        prop_assert_eq!(snapshot.state == State::Open, naive.opened.is_some());
        let counted = [snapshot.calls, snapshot.failures, snapshot.slow_calls];
        prop_assert_eq!(counted.map(u64::from), naive.counts(), "after {:?}", step);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/breaker_windows.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn it_counts_as_a_list_of_all_calls_would(
        config in any_config(),
        steps in prop::collection::vec(any_step(), 1..200),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(agrees(config, &steps))?;
    }
}
