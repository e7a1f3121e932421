//! One session, many ways in: the attribute, a block, a `Retrier` (with a list, without, with `when`, boxed,
//! with closures of one call), a `RetryLayer` and the step of a job make the same decisions on
//! random scripts of outcomes, hints, hanging servers, hedges, breakers, quotas and shares.
//!
//! Left out, because they behave differently on purpose:
//! - `Retrier::blocking` and annotated functions that are not async: nothing can cut their attempts
//!   off, and their thread sleeps in real time.
//! - `Retrier::run_with`: an attempt that is cut off takes the state with it, which ends the call.
//! - The step of a job, if there is a deadline or a `max_elapsed` (a job rejects both), a breaker
//!   (that of a job is asked for each item, not for each attempt), a quota (a success in another
//!   process refunds nothing), a hedge (an item has one lease) or a value that is retried (a job has
//!   none). The budget of a job is
//!   also checked against the clock, which is stopped here.
//! - Errors that are `.opaque()`: the attribute has no equivalent.
//! - Jitter: it is random, and drawn separately for each way in.

use std::fmt::{self, Display};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::http::StatusError;
use retry_runtime::matchers::{Matcher, network, pattern, rate_limit, timeout};
use retry_runtime::retrier::{Decider, Values};
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    Backoff, BreakerConfig, CircuitBreaker, Class, Classify, Interrupted, Policy, QuotaConfig,
    Reason, Retrier, RetryError, RetryQuota, State, classify, retry, retrying,
};
use tokio::time::{Instant, sleep};
use tower::{ServiceExt as _, service_fn};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const GROWING: Policy = Policy::new().attempts(4).first_delay(ms(100));
const BUDGETED: Policy = Policy::new()
    .attempts(6)
    .backoff(Backoff::Fixed)
    .initial_delay(ms(500))
    .budget(ms(2_000))
    .max_elapsed(ms(5_000));
const TIMED: Policy = Policy::new().attempts(4).initial_delay(ms(200)).timeout(ms(2_000));
const BOUNDED: Policy = Policy::new().attempts(5).backoff(Backoff::Fibonacci).deadline(ms(6_000));
const ENDLESS: Policy = Policy::new()
    .unlimited()
    .backoff(Backoff::Custom(&[ms(100), ms(700)]))
    .max_delay(ms(900))
    .budget(ms(4_000))
    .timeout(ms(1_000))
    .deadline(ms(9_000));
const TWICE: Policy = Policy::new().attempts(2).timeout(ms(1_200)).deadline(ms(2_200));
const HEDGED: Policy =
    Policy::new().attempts(4).initial_delay(ms(200)).timeout(ms(2_000)).hedge(ms(400));
const POLICIES: [Policy; 7] = [GROWING, BUDGETED, TIMED, BOUNDED, ENDLESS, TWICE, HEDGED];

/// How failures are matched.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Matching {
    Everything,
    Listed,
    When,
    ListedAndWhen,
    Values,
}

/// The type of the errors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Io,
    Erased,
    Text,
    Classified,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// A value; 0 is one that may be retried.
    Value(u32),
    Refused,
    TimedOut,
    Status(u16),
    Throttled,
    Corrupt,
}

#[derive(Clone, Debug)]
struct Script {
    policy: usize,
    matching: Matching,
    kind: Kind,
    guarded: bool,
    /// The outcomes of the attempts, with their durations.
    attempts: Vec<(Outcome, Duration)>,
    /// The pause before each call.
    calls: Vec<Duration>,
    threshold: u32,
    open: Duration,
    tokens: u32,
    /// Whether retries are a share of the calls too.
    shared: bool,
}

fn script() -> impl Strategy<Value = Script> {
    let outcome = prop_oneof![
        2 => (0..3_u32).prop_map(Outcome::Value),
        2 => Just(Outcome::Refused),
        1 => Just(Outcome::TimedOut),
        1 => prop::sample::select(vec![404, 500, 503, 504]).prop_map(Outcome::Status),
        1 => Just(Outcome::Throttled),
        1 => Just(Outcome::Corrupt),
    ];
    // The last two are longer than a timeout, and than the deadlines.
    let takes = prop::sample::select(vec![0, 0, 10, 300, 990, 1_500, 2_500, 10_000]);
    let matching = prop::sample::select(vec![
        Matching::Everything,
        Matching::Listed,
        Matching::When,
        Matching::ListedAndWhen,
        Matching::Values,
    ]);
    let kind = prop_oneof![
        4 => Just(Kind::Io),
        1 => Just(Kind::Erased),
        1 => Just(Kind::Text),
        1 => Just(Kind::Classified),
    ];
    (
        (0..POLICIES.len(), matching, kind, any::<bool>()),
        prop::collection::vec((outcome, takes.prop_map(ms)), 1..12),
        prop::collection::vec((0..3_000_u64).prop_map(ms), 1..5),
        (1..6_u32, (1..4_000_u64).prop_map(ms), 10..40_u32, any::<bool>()),
    )
        .prop_map(|((policy, matching, kind, guarded), attempts, calls, config)| {
            // Only `io::Error` is combined with every kind of matching; for the others, lists are
            // enough.
            let matching = if kind == Kind::Io { matching } else { Matching::Listed };
            let (threshold, open, tokens, shared) = config;
            Script {
                policy,
                matching,
                kind,
                guarded,
                attempts,
                calls,
                threshold,
                open,
                tokens,
                shared,
            }
        })
}

/// Errors that a script can create.
trait Fails: Display + Send + Sync + 'static {
    fn new(outcome: Outcome) -> Self;
}

impl Fails for io::Error {
    fn new(outcome: Outcome) -> Self {
        let status = |code: u16, wait| {
            let code = http::StatusCode::from_u16(code).unwrap();
            Self::other(StatusError::new(code, wait))
        };
        match outcome {
            Outcome::Value(_) | Outcome::Corrupt => ErrorKind::InvalidData.into(),
            Outcome::Refused => ErrorKind::ConnectionRefused.into(),
            Outcome::TimedOut => ErrorKind::TimedOut.into(),
            Outcome::Status(code) => status(code, None),
            Outcome::Throttled => status(429, Some(ms(1_200))),
        }
    }
}

impl Fails for anyhow::Error {
    fn new(outcome: Outcome) -> Self {
        Self::new(<io::Error as Fails>::new(outcome)).context("fetching")
    }
}

impl Fails for String {
    fn new(outcome: Outcome) -> Self {
        <io::Error as Fails>::new(outcome).to_string()
    }
}

/// Classifies itself; it has neither a source nor a known type.
#[derive(Debug)]
struct Own(Outcome);

impl Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timed out, or so it reads: {:?}", self.0)
    }
}

impl Classify for Own {
    fn class(&self) -> Class {
        match self.0 {
            Outcome::Refused => Class::NETWORK,
            Outcome::TimedOut => Class::TIMEOUT,
            Outcome::Status(code) => classify::status(code),
            Outcome::Throttled => Class::RATE_LIMIT,
            Outcome::Value(_) | Outcome::Corrupt => Class::empty(),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        matches!(self.0, Outcome::Throttled).then_some(ms(1_200))
    }
}

impl Fails for Own {
    fn new(outcome: Outcome) -> Self {
        Self(outcome)
    }
}

fn is_picked(error: &io::Error) -> bool {
    error.to_string().contains('5') || error.kind() == ErrorKind::InvalidData
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what a predicate gets")]
fn is_unfinished(value: &u32) -> bool {
    *value == 0
}

/// The world behind one way in, in which the script is played.
struct World {
    script: Script,
    breaker: Arc<CircuitBreaker>,
    quota: Arc<RetryQuota>,
    begun: Instant,
    attempts: Mutex<Vec<Duration>>,
}

impl World {
    fn new(script: &Script) -> Arc<Self> {
        let breaker = BreakerConfig::new()
            .failure_threshold(script.threshold)
            .timeout(script.open)
            .success_threshold(1);
        let quota = QuotaConfig::new().capacity(script.tokens);
        let quota = if script.shared { quota.share(0.2) } else { quota };
        Arc::new(Self {
            script: script.clone(),
            breaker: Arc::new(CircuitBreaker::new("world", breaker)),
            quota: Arc::new(RetryQuota::new("world", quota)),
            begun: Instant::now(),
            attempts: Mutex::default(),
        })
    }

    async fn attempt<E: Fails>(&self) -> Result<u32, E> {
        let made = {
            let mut attempts = self.attempts.lock().unwrap();
            attempts.push(self.begun.elapsed());
            attempts.len() - 1
        };
        let (outcome, takes) = self.script.attempts[made % self.script.attempts.len()];
        sleep(takes).await;
        match outcome {
            Outcome::Value(value) => Ok(value),
            failure => Err(E::new(failure)),
        }
    }
}

/// How a call ended, and the state that it left behind.
#[derive(Debug, PartialEq)]
struct Ended {
    result: CallResult,
    at: Duration,
    attempts: Vec<Duration>,
    tokens: u32,
    breaker: (State, u64, u64, Duration),
}

type CallResult = Result<u32, (Reason, u32, Duration, String)>;
type Playing<'a> = Pin<Box<dyn Future<Output = Vec<Ended>> + 'a>>;

fn told<E: Fails>(result: Result<u32, RetryError<E>>) -> CallResult {
    result.map_err(|error| {
        let last = error.interrupted().map(ToString::to_string);
        let last = last.or_else(|| error.last().map(ToString::to_string)).unwrap_or_default();
        (error.reason(), error.attempts(), error.waited(), last)
    })
}

/// Plays all calls of the script through one way in.
fn play<'a, Fut: Future<Output = CallResult> + 'a>(
    script: &'a Script,
    door: impl Fn(Arc<World>) -> Fut + 'a,
) -> Playing<'a> {
    Box::pin(async move {
        let world = World::new(script);
        let mut all = Vec::new();
        for pause in &script.calls {
            sleep(*pause).await;
            let result = door(world.clone()).await;
            let snapshot = world.breaker.snapshot();
            all.push(Ended {
                result,
                at: world.begun.elapsed(),
                attempts: world.attempts.lock().unwrap().clone(),
                tokens: world.quota.available(),
                breaker: (
                    world.breaker.state(),
                    snapshot.calls,
                    snapshot.failures,
                    world.breaker.remaining(),
                ),
            });
        }
        all
    })
}

/// Annotated functions: one for each policy, guarded and not.
macro_rules! annotated {
    ($E:ty, $script:ident, [$($options:tt)*]) => {{
        macro_rules! function {
            ($policy:ident, $option:ident = $value:literal) => {{
                #[retry(policy = $policy, $option = $value, $($options)*)]
                async fn plain(world: &World) -> Result<u32, RetryError<$E>> {
                    world.attempt().await
                }
                #[retry(policy = $policy, $option = $value, breaker = world.breaker, quota = world.quota, $($options)*)]
                async fn guarded(world: &World) -> Result<u32, RetryError<$E>> {
                    world.attempt().await
                }
                play($script, |world| async move {
                    told(if world.script.guarded {
                        guarded(&world).await
                    } else {
                        plain(&world).await
                    })
                })
            }};
        }
        match $script.policy {
            0 => function!(GROWING, docs = false),
            1 => function!(BUDGETED, docs = false),
            2 => function!(TIMED, docs = false),
            3 => function!(BOUNDED, docs = false),
            4 => function!(ENDLESS, docs = false),
            5 => function!(TWICE, docs = false),
            _ => function!(HEDGED, hedge = "400ms"),
        }
    }};
}

/// Blocks, whose policy is known at run time.
macro_rules! block {
    ($E:ty, $script:ident, [$($options:tt)*]) => {
        play($script, |world| async move {
            let policy = POLICIES[world.script.policy];
            told(if world.script.guarded {
                let call = retrying!(
                    name = "differential.guarded",
                    policy = policy,
                    breaker = world.breaker,
                    quota = world.quota,
                    $($options)*
                    async |_| -> Result<u32, RetryError<$E>> { world.attempt().await }
                );
                call.await
            } else {
                let call = retrying!(
                    name = "differential.plain",
                    policy = policy,
                    $($options)*
                    async |_| -> Result<u32, RetryError<$E>> { world.attempt().await }
                );
                call.await
            })
        })
    };
}

/// Plays a script by functions or by blocks, with the options of its matching.
macro_rules! written {
    ($way:ident, $script:ident) => {{
        macro_rules! listed {
            ($E:ty) => {
                $way!(
                    $E,
                    $script,
                    [retry_on = [network, timeout, rate_limit], abort_on = [pattern("504|abort")],]
                )
            };
        }
        match ($script.kind, $script.matching) {
            (Kind::Erased, _) => listed!(anyhow::Error),
            (Kind::Text, _) => listed!(String),
            (Kind::Classified, _) => listed!(Own),
            (Kind::Io, Matching::Listed) => listed!(io::Error),
            (Kind::Io, Matching::Everything) => $way!(io::Error, $script, []),
            (Kind::Io, Matching::When) => {
                $way!(io::Error, $script, [retry_on = [when(is_picked)],])
            }
            (Kind::Io, Matching::ListedAndWhen) => {
                $way!(io::Error, $script, [retry_on = [network, when(is_picked)],])
            }
            (Kind::Io, Matching::Values) => {
                $way!(io::Error, $script, [retry_on = [network, ok(is_unfinished)],])
            }
        }
    }};
}

fn attribute(script: &Script) -> Playing<'_> {
    written!(annotated, script)
}

fn blocks(script: &Script) -> Playing<'_> {
    written!(block, script)
}

/// The retrier, with the breaker and the quota of this world.
fn of_world<D, V>(retrier: &Retrier<D, V>, world: &World) -> Retrier<D, V>
where
    Retrier<D, V>: Clone,
{
    let retrier = retrier.clone();
    if world.script.guarded {
        retrier.breaker(world.breaker.clone()).quota(world.quota.clone())
    } else {
        retrier
    }
}

/// The retrier as it is, for one error, in a layer, and for the step of a job.
fn entry_points<'a, E, K, D, V>(
    script: &'a Script,
    retrier: &Retrier<D, V>,
) -> Vec<(&'static str, Playing<'a>)>
where
    E: Fails,
    K: 'static,
    D: Decider<E, K> + Clone + Send + Sync + 'static,
    V: Values<u32> + Clone + Send + Sync + 'static,
{
    let run = retrier.clone();
    let run = play(script, move |world| {
        let retrier = of_world(&run, &world);
        async move { told(retrier.run(|| world.attempt::<E>()).await) }
    });
    let for_error = retrier.clone().for_error::<E, K>();
    let for_error = play(script, move |world| {
        let retrier = of_world(&for_error, &world);
        async move { told(retrier.run(|| world.attempt::<E>()).await) }
    });
    let layered = retrier.clone();
    let layered = play(script, move |world| {
        let layer = RetryLayer::<D, K, V>::new(of_world(&layered, &world));
        async move {
            let inner = service_fn(move |()| {
                let world = world.clone();
                async move { world.attempt::<E>().await }
            });
            told(tower::Layer::layer(&layer, inner).oneshot(()).await)
        }
    });
    let mut entry_points = vec![("retrier", run), ("for one error", for_error), ("layer", layered)];
    let policy = POLICIES[script.policy];
    if !script.guarded
        && !policy.has_deadline()
        && !policy.has_max_elapsed()
        && !policy.is_hedged()
        && script.matching != Matching::Values
    {
        let retrier = retrier.clone();
        entry_points.push(("step", play(script, move |world| step(retrier.clone(), world))));
    }
    entry_points
}

/// The way a job does it: stores the progress outside the call, and has its own timeout.
async fn step<E: Fails, K, D, V>(retrier: Retrier<D, V>, world: Arc<World>) -> CallResult
where
    D: Decider<E, K>,
{
    let mut state = CallState::default();
    loop {
        let attempt = world.attempt::<E>();
        let result = match retrier.policy().get_timeout() {
            None => attempt.await.map_err(Ok),
            Some(limit) => match tokio::time::timeout(limit, attempt).await {
                Ok(result) => result.map_err(Ok),
                Err(_) => Err(Err(Interrupted::timeout(limit))),
            },
        };
        let error = match result {
            Ok(value) => {
                retrier.succeeded_after(state);
                return Ok(value);
            }
            Err(error) => error,
        };
        let failed = match &error {
            Ok(error) => Failed::now(error),
            Err(cut) => Failed::cut(Duration::ZERO, cut),
        };
        match retrier.decide(&mut state, &failed) {
            Decision::Wait(wait) => sleep(wait).await,
            Decision::GiveUp(reason) => {
                let last = error.map_or_else(|cut| cut.to_string(), |error| error.to_string());
                return Err((reason, state.attempts, state.waited, last));
            }
        }
    }
}

/// A retrier whose predicate is given for each call.
fn at_the_call(script: &Script, retrier: Retrier) -> Playing<'_> {
    play(script, move |world| {
        let retrier = of_world(&retrier, &world);
        async move {
            let mut told_of = 0;
            let call = retrier.run(|| world.attempt::<io::Error>()).when(is_picked);
            told(call.on_retry(|_| told_of += 1).await)
        }
    })
}

/// Compiled once, instead of for each script.
static ABORTS: LazyLock<Matcher> = LazyLock::new(|| pattern("504|abort").unwrap());

fn all_doors(script: &Script) -> Vec<(&'static str, Playing<'_>)> {
    let any = Retrier::new(POLICIES[script.policy]);
    let listed = any.clone().retry_on([network, timeout, rate_limit]);
    let listed = listed.abort_on([ABORTS.clone()]);
    match (script.kind, script.matching) {
        (Kind::Erased, _) => entry_points::<anyhow::Error, _, _, _>(script, &listed),
        (Kind::Text, _) => entry_points::<String, _, _, _>(script, &listed),
        (Kind::Classified, _) => entry_points::<Own, _, _, _>(script, &listed.classified()),
        (Kind::Io, Matching::Listed) => entry_points::<io::Error, _, _, _>(script, &listed),
        (Kind::Io, Matching::Everything) => {
            let mut all = entry_points::<io::Error, _, _, _>(script, &any);
            // An empty list matches nothing, and the closures added here change nothing.
            all.extend(entry_points::<io::Error, _, _, _>(script, &any.abort_on([])));
            all
        }
        (Kind::Io, Matching::When) => {
            let mut all = entry_points::<io::Error, _, _, _>(script, &any.clone().when(is_picked));
            all.push(("at the call", at_the_call(script, any)));
            all
        }
        (Kind::Io, Matching::ListedAndWhen) => {
            let listed = any.retry_on([network]);
            let mut all =
                entry_points::<io::Error, _, _, _>(script, &listed.clone().when(is_picked));
            all.push(("at the call", at_the_call(script, listed)));
            all
        }
        (Kind::Io, Matching::Values) => {
            let values = any.retry_on([network]).retry_on_value(is_unfinished);
            entry_points::<io::Error, _, _, _>(script, &values)
        }
    }
}

fn decides_as_the_attribute_does(script: &Script) -> Result<(), TestCaseError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
        let expected = attribute(script).await;
        let mut all = all_doors(script);
        // A block has to be told that it may run twice.
        if !POLICIES[script.policy].is_hedged() {
            all.push(("block", blocks(script)));
        }
        for (door, playing) in all {
            prop_assert_eq!(&playing.await, &expected, "{}", door);
        }
        Ok(())
    })
}

// Two tests of other random cases, for two cores.
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn all_doors_decide_as_the_attribute_does(script in script()) {
        decides_as_the_attribute_does(&script)?;
    }

    #[test]
    fn all_doors_decide_as_the_attribute_does_in_other_cases(script in script()) {
        decides_as_the_attribute_does(&script)?;
    }
}
