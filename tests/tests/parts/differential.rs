//! One session, many ways in: the attribute, a block, a `Retrier` (with a list, without, with `when`, boxed,
//! with closures of one call), a `RetryLayer` and the step of a job do what a naive model does, on
//! random scripts of outcomes, hints, panics, hanging servers, hedges that hang, slow calls, callers
//! that give up, breakers in all their states, quotas and shares.
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
//! - `when_open = wait`: each change of the breaker wakes the call, which the model does not follow.
//!
//! The wait for the end of a hold has a random part. The model takes it from what was observed, if the
//! rules allow it.
//!
//! A failure prints its seed. `DIFFERENTIAL_SEED` runs another seed, `DIFFERENTIAL_CASES` more scripts.

mod model;
mod script;
mod world;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::matchers::{Matcher, network, pattern, rate_limit, timeout};
use retry_runtime::retrier::{Decider, Values};
use retry_runtime::tower::RetryLayer;
use retry_runtime::{Interrupted, Retrier, RetryError, retry, retrying};
use tokio::time::sleep;
use tower::{ServiceExt as _, service_fn};

use self::model::{Expected, expected};
use self::script::{
    BOUNDED, BUDGETED, CROWDED, ENDLESS, Fails, GROWING, HEDGED, Kind, MODEST, Matching, Own,
    PATIENT, Script, TIMED, TWICE, script,
};
use self::world::{
    CallResult, Ended, Last, Played, Playing, World, ended, is_picked, is_picked_too,
    is_unfinished, play,
};

/// Annotated functions: one for each policy, guarded and not.
macro_rules! annotated {
    ($E:ty, $script:ident, [$($options:tt)*]) => {{
        macro_rules! function {
            ($policy:ident, $option:meta) => {{
                #[retry(policy = $policy, $option, $($options)*)]
                async fn plain(world: &World) -> Result<u32, RetryError<$E>> {
                    world.attempt().await
                }
                #[retry(policy = $policy, $option, breaker = world.breaker, quota = world.quota, $($options)*)]
                async fn guarded(world: &World) -> Result<u32, RetryError<$E>> {
                    world.attempt().await
                }
                play($script, |world| async move {
                    if world.script.protection.is_some() {
                        ended(&world, guarded(&world)).await
                    } else {
                        ended(&world, plain(&world)).await
                    }
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
            6 => function!(MODEST, docs = false),
            7 => function!(HEDGED, hedge),
            8 => function!(CROWDED, hedge),
            _ => function!(PATIENT, hedge),
        }
    }};
}

/// Blocks, whose policy is known at runtime.
macro_rules! block {
    ($E:ty, $script:ident, [$($options:tt)*]) => {{
        // A block is hedged only where `hedge` is written.
        macro_rules! block_with {
            ($world:ident, $option:meta) => {
                if $world.script.protection.is_some() {
                    let call = retrying!(
                        name = "differential.guarded",
                        policy = $world.script.policy(),
                        $option,
                        breaker = $world.breaker,
                        quota = $world.quota,
                        $($options)*
                        async |_| -> Result<u32, RetryError<$E>> { $world.attempt().await }
                    );
                    ended(&$world, call).await
                } else {
                    let call = retrying!(
                        name = "differential.plain",
                        policy = $world.script.policy(),
                        $option,
                        $($options)*
                        async |_| -> Result<u32, RetryError<$E>> { $world.attempt().await }
                    );
                    ended(&$world, call).await
                }
            };
        }
        play($script, |world| async move {
            if world.script.policy().is_hedged() {
                block_with!(world, hedge)
            } else {
                block_with!(world, jitter = 0.0)
            }
        })
    }};
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
                $way!(io::Error, $script, [retry_on = [network, when(is_picked_too)],])
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
    if world.script.protection.is_some() {
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
        async move { ended(&world, retrier.run(|| world.attempt::<E>()).into_future()).await }
    });
    let for_error = retrier.clone().for_error::<E, K>();
    let for_error = play(script, move |world| {
        let retrier = of_world(&for_error, &world);
        async move { ended(&world, retrier.run(|| world.attempt::<E>()).into_future()).await }
    });
    let layered = retrier.clone();
    let layered = play(script, move |world| {
        let layer = RetryLayer::<D, K, V>::new(of_world(&layered, &world));
        async move {
            let called = world.clone();
            let inner = service_fn(move |()| {
                let world = called.clone();
                async move { world.attempt::<E>().await }
            });
            ended(&world, tower::Layer::layer(&layer, inner).oneshot(())).await
        }
    });
    let mut entry_points = vec![("retrier", run), ("for one error", for_error), ("layer", layered)];
    let policy = script.policy();
    if script.protection.is_none()
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
                return CallResult::Returned(value);
            }
            Err(error) => error,
        };
        let failed = match &error {
            Ok(error) => Failed::now(error),
            Err(cut) => Failed::timed_out(Duration::ZERO, cut),
        };
        match retrier.decide(&mut state, &failed) {
            Decision::Wait(wait) => sleep(wait).await,
            Decision::GiveUp(reason) => {
                let last = match error {
                    Ok(error) => Last::Error(error.to_string()),
                    Err(_) => Last::Timeout,
                };
                let CallState { attempts, waited, .. } = state;
                return CallResult::Failed { reason, attempts, waited, last };
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
            let when: fn(&io::Error) -> bool = match world.script.matching {
                Matching::When => is_picked,
                _ => is_picked_too,
            };
            let call = retrier.run(|| world.attempt::<io::Error>()).when(when);
            ended(&world, call.on_retry(|_| told_of += 1)).await
        }
    })
}

/// Compiled once, instead of for each script.
static ABORTS: LazyLock<Matcher> = LazyLock::new(|| pattern("504|abort").unwrap());

fn all_doors(script: &Script) -> Vec<(&'static str, Playing<'_>)> {
    let any = Retrier::new(script.policy());
    let listed = any.clone().retry_on([network, timeout, rate_limit]);
    let listed = listed.abort_on([ABORTS.clone()]);
    let mut all = vec![("attribute", attribute(script)), ("block", blocks(script))];
    all.extend(match (script.kind, script.matching) {
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
                entry_points::<io::Error, _, _, _>(script, &listed.clone().when(is_picked_too));
            all.push(("at the call", at_the_call(script, listed)));
            all
        }
        (Kind::Io, Matching::Values) => {
            let values = any.retry_on([network]).retry_on_value(is_unfinished);
            entry_points::<io::Error, _, _, _>(script, &values)
        }
    });
    all
}

/// Plays a script, and returns a text for each way in that differs from the model.
fn differences(script: &Script) -> Vec<String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
        let holds = script.protected().hold.is_some();
        let mut first = None;
        let mut all = Vec::new();
        for (door, playing) in all_doors(script) {
            let mut played = playing.await;
            let Expected { calls, share_left, has_ties, is_unspecified, waits } =
                expected(script, Some(&played.waits));
            // Without a rule, ways in are compared with each other, unless their waits are random.
            if has_ties || is_unspecified && holds {
                continue;
            }
            if share_left.is_none() {
                played.share_left = None;
            }
            let (by, expected) = match &first {
                Some((by, first)) if is_unspecified => (*by, first),
                None if is_unspecified => {
                    first = Some((door, played));
                    continue;
                }
                _ => ("the model", &Played { calls, share_left, waits }),
            };
            if played != *expected {
                all.push(difference(by, expected, door, &played));
            }
        }
        all
    })
}

/// Describes the first difference.
fn difference(by: &str, expected: &Played, door: &str, played: &Played) -> String {
    let calls = expected.calls.iter().zip(&played.calls).enumerate();
    let mut differing = calls.filter(|(_, (expected, played))| expected != played);
    match differing.next() {
        Some((at, (expected, played))) => {
            format!("call {at}\nby {by}:\n{expected:?}\nby {door}:\n{played:?}\n")
        }
        None => format!(
            "share left by {by}: {:?}, by {door}: {:?}; waits {:?}, {:?}\n",
            expected.share_left, played.share_left, expected.waits, played.waits
        ),
    }
}

/// Plays random scripts, which a seed determines.
fn play_random_scripts(default_seed: u64) {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let seed = number("DIFFERENTIAL_SEED").unwrap_or(default_seed);
    let cases = number("DIFFERENTIAL_CASES").unwrap_or(1_000);
    let result = TestRunner::new(seeded(seed, cases)).run(&script(), |script| {
        let differences = differences(&script);
        if differences.is_empty() { Ok(()) } else { Err(TestCaseError::fail(differences.concat())) }
    });
    if let Err(error) = result {
        panic!("DIFFERENTIAL_SEED={seed}: {error}");
    }
}

fn seeded(seed: u64, cases: u64) -> Config {
    Config {
        cases: u32::try_from(cases).expect("fewer than four billion"),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    }
}

// Two tests of different random scripts, for two cores.

#[test]
fn every_entry_point_behaves_like_the_model() {
    play_random_scripts(1);
}

#[test]
fn every_entry_point_behaves_like_the_model_in_other_cases() {
    play_random_scripts(2);
}

/// Counts the results that the model expects of random scripts.
fn reached(scripts: usize) -> BTreeMap<String, usize> {
    let mut runner = TestRunner::new(seeded(1, 1));
    let mut reached = BTreeMap::new();
    for _ in 0..scripts {
        let script = script().new_tree(&mut runner).expect("no script is rejected").current();
        let expected = expected(&script, None);
        let mut all = vec![
            ("a tie".to_owned(), expected.has_ties),
            ("an unspecified result".to_owned(), expected.is_unspecified),
            ("a used share".to_owned(), expected.share_left.is_some_and(|left| left < 10)),
            ("an exhausted share".to_owned(), expected.share_left == Some(0)),
        ];
        for Ended { result, breaker, .. } in expected.calls {
            all.push((format!("{:?}", breaker.state), true));
            all.push(("a slow call".to_owned(), breaker.slow > 0));
            all.push(("a forgiven call".to_owned(), breaker.forgiven > 0));
            all.push(("a rejected call".to_owned(), breaker.rejected > 0));
            all.push(("a hold".to_owned(), breaker.held_for > Duration::ZERO));
            all.push(("a held call".to_owned(), breaker.held > 0));
            all.push(("a failed probe".to_owned(), breaker.reopenings > 0));
            all.push(match result {
                CallResult::Failed { reason, .. } => (format!("{reason:?}"), true),
                other => (format!("{other:?}"), true),
            });
        }
        for (what, _) in all.into_iter().filter(|(_, is_reached)| *is_reached) {
            *reached.entry(what).or_default() += 1;
        }
    }
    reached
}

#[test]
fn random_scripts_reach_every_outcome() {
    let reached = reached(1_500);
    let times = |what: &str| reached.get(what).copied().unwrap_or_default();
    for what in [
        "Attempts",
        "Budget",
        "CircuitOpen",
        "Deadline",
        "Held",
        "MaxElapsed",
        "NotRetryable",
        "Quota",
        "RetryAfter",
        "Returned(0)",
        "Returned(1)",
        "Panicked",
        "Dropped",
        "Closed",
        "Open",
        "HalfOpen",
        "a slow call",
        "a forgiven call",
        "a rejected call",
        "a hold",
        "a held call",
        "a failed probe",
        "a used share",
    ] {
        assert!(times(what) >= 5, "{what}: {reached:#?}");
    }
    // Nearly all scripts have a result that the rules determine.
    assert!(times("a tie") < 30 && times("an unspecified result") < 150, "{reached:#?}");
}
