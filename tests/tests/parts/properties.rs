//! Properties that hold for any policy, even for one that the rules would reject.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use retry_runtime::{
    Attempts, Backoff, Bound, Jitter, Policy, Reason, Retrier, RetryError, Rule, Rules, Style,
};
use retry_workflow::{ErrorPolicy, TaskKeys};
use serde_json::json;
use tokio::time::Instant;

const DEFAULT: Policy = Policy::new();

/// The pool of custom delays: each distinct list is kept forever.
const DELAYS: [Duration; 7] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_millis(5),
    Duration::from_secs(1),
    Duration::from_secs(30),
    Duration::from_secs(31),
    Duration::MAX,
];

fn config(cases: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("proptest-regressions/properties.txt");
    ProptestConfig { cases, failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..120_000_u64).prop_map(Duration::from_millis),
        2 => any::<u64>().prop_map(Duration::from_nanos),
        2 => (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
    ]
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..10.0,
        2 => proptest::num::f64::ANY,
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -2.0, -0.0, 1.0, f64::MIN_POSITIVE, f64::MAX,
        ]),
    ]
}

fn any_attempts() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..20_u32, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    prop_oneof![
        Just(Backoff::Fixed),
        any_duration().prop_map(|increment| Backoff::Linear { increment }),
        any_number().prop_map(|base| Backoff::Exponential { base }),
        Just(Backoff::Fibonacci),
        (0..7_usize).prop_map(|from| Backoff::Custom(&DELAYS[from..])),
    ]
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        any_number().prop_map(Jitter::Proportional),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        any_number().prop_map(Jitter::Up),
        (any_duration(), any_duration()).prop_map(|(least, most)| Jitter::Added { least, most }),
    ]
}

fn any_bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        4 => Just(Bound::None),
        1 => Just(Bound::Unlimited),
        5 => any_duration().prop_map(Bound::Limited),
    ]
}

prop_compose! {
    fn any_policy()(
        attempts in prop::option::weighted(0.9, any_attempts()),
        backoff in any_backoff(),
        initial in any_duration(),
        max in prop::option::weighted(0.8, any_duration()),
        first in prop::option::of(any_duration()),
        jitter in any_jitter(),
        budget in any_bound(),
        deadline in any_bound(),
        max_elapsed in any_bound(),
        max_retry_after in any_bound(),
        timeout in any_bound(),
    ) -> Policy {
        let policy = DEFAULT.backoff(backoff).initial_delay(initial).jitter(jitter);
        let policy = max.map_or(policy, |max| policy.max_delay(max));
        let policy = first.map_or(policy, |first| policy.first_delay(first));
        let policy = attempts.map_or(policy.unlimited(), |attempts| policy.attempts(attempts));
        policy
            .with_budget(budget)
            .with_deadline(deadline)
            .with_max_elapsed(max_elapsed)
            .with_max_retry_after(max_retry_after)
            .with_timeout(timeout)
    }
}

/// Policies that obey the rules, and whose calls end within an hour of virtual time.
fn valid_policy() -> impl Strategy<Value = Policy> {
    let delay = || (1..5_000_u64).prop_map(Duration::from_millis);
    let curve = prop_oneof![
        Just(Backoff::Fixed),
        delay().prop_map(|increment| Backoff::Linear { increment }),
        // Numbers that every reader and writer of decimals represents in the same way.
        (11..1_000_u32).prop_map(|tenths| Backoff::Exponential { base: f64::from(tenths) / 10.0 }),
        Just(Backoff::Fibonacci),
        (0..3_usize).prop_map(|from| Backoff::Custom(&DELAYS[from..4])),
    ];
    let limit = || prop::option::of(any_duration()).prop_map(Bound::from);
    let jitter = prop_oneof![
        Just(Jitter::None),
        (0..=100_u32).prop_map(|percent| Jitter::Proportional(f64::from(percent) / 100.0)),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        (1..=100_u32).prop_map(|percent| Jitter::Up(f64::from(percent) / 100.0)),
        (0..400_u64, 0..4_000_u64).prop_map(|(least, more)| Jitter::Added {
            least: Duration::from_millis(least),
            most: Duration::from_millis(least + more),
        }),
    ];
    (
        prop::option::weighted(0.9, 1..30_u32),
        curve,
        delay(),
        delay(),
        jitter,
        prop::option::of(delay()),
        (any_bound(), limit(), any_bound(), limit(), any_bound()),
    )
        .prop_map(|(attempts, curve, initial, more, jitter, first, bounds)| {
            let (budget, deadline, max_elapsed, timeout, max_retry_after) = bounds;
            let policy = DEFAULT.backoff(curve).initial_delay(initial).max_delay(initial + more);
            let policy = policy.jitter(jitter);
            let policy = first.map_or(policy, |first| policy.first_delay(first));
            let policy = attempts.map_or(policy.unlimited(), |attempts| policy.attempts(attempts));
            policy
                .with_budget(budget)
                .with_deadline(deadline)
                .with_max_elapsed(max_elapsed)
                .with_max_retry_after(max_retry_after)
                .with_timeout(timeout)
        })
        .prop_filter("it keeps the rules", |policy| policy.validate().is_ok())
}

/// The end of a call with this policy if everything fails, and the times of its attempts.
fn drive(policy: Policy) -> (RetryError<&'static str>, Vec<Instant>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let mut calls = Vec::new();
    let error = runtime
        .block_on(Retrier::new(policy).run(|| {
            calls.push(Instant::now());
            async { Err::<(), _>("down") }
        }))
        .unwrap_err();
    (error, calls)
}

fn gaps(calls: &[Instant]) -> Vec<Duration> {
    calls.windows(2).map(|two| two[1] - two[0]).collect()
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn nothing_panics_and_no_wait_is_above_max_delay(
        policy in any_policy(),
        n in any_attempts(),
        previous in prop::option::of(any_duration()),
        hint in any_duration(),
    ) {
        let max = policy.get_max_delay();
        prop_assert!(policy.wait(n) <= max);
        let (shortest, longest) = policy.wait_interval(n, previous);
        prop_assert!(shortest <= longest && longest <= max, "{:?}", (shortest, longest));
        let added = match policy.get_jitter() {
            Jitter::Added { least, most } => least.min(most),
            _ => Duration::ZERO,
        };
        if let Jitter::Up(_) | Jitter::Added { .. } = policy.get_jitter() {
            let least = policy.wait(n).min(max / 2).max(added.min(max));
            prop_assert!(shortest >= least, "{:?} < {:?}", shortest, least);
        }
        // Waits of 0s would never use up a budget.
        let is_timed = policy.has_deadline() || policy.has_max_elapsed();
        let expected = match policy.get_attempts() {
            Attempts::Unlimited if hint.is_zero() && !is_timed => shortest,
            _ => hint.saturating_add(added),
        };
        let (shortest, longest) = policy.hint_interval(n, hint, previous);
        prop_assert!(shortest == expected && longest >= shortest, "{:?}", (shortest, longest));
        prop_assert!(!policy.to_string().is_empty());
        let total = policy.longest_total_wait();
        let bounds = [policy.get_budget(), policy.get_deadline(), policy.get_max_elapsed()];
        for bound in bounds.into_iter().flatten() {
            prop_assert!(total.is_some_and(|total| total <= bound));
        }
        if let Err(invalid) = policy.validate() {
            prop_assert!(!invalid.to_string().is_empty());
            for rule in invalid.broken().iter() {
                for style in [Style::Attribute, Style::Command, Style::Workflow, Style::Task, Style::Override] {
                    prop_assert!(!rule.explained(style, &policy).to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn a_corrected_policy_is_valid(policy in any_policy()) {
        let (nearest, invalid) = policy.nearest_valid();
        prop_assert_eq!(nearest.nearest_valid().0, nearest);
        let silent = Rules::NONE.with(Rule::CustomDelaysUnused);
        let broken = policy.validate().err().map_or(Rules::NONE, |invalid| invalid.broken());
        match invalid {
            None => {
                prop_assert!(broken.difference(silent).is_empty());
                prop_assert_eq!(nearest, policy);
            }
            Some(invalid) => {
                prop_assert!(broken.difference(silent).difference(invalid.broken()).is_empty());
            }
        }
        // A policy that never retries is obeyed as it is, and each delay is capped when it is used.
        let as_it_is = silent
            .with(Rule::CustomDelayAboveMax)
            .with(Rule::BudgetBelowFirstWait)
            .with(Rule::DeadlineBelowFirstWait)
            .with(Rule::MaxElapsedBelowFirstWait)
            .with(Rule::FirstDelayAboveBound);
        if let Err(invalid) = nearest.validate() {
            prop_assert!(invalid.broken().difference(as_it_is).is_empty(), "{}", invalid);
        }
    }

    #[test]
    fn waits_of_a_growing_curve_never_become_shorter(policy in valid_policy(), n in 1..200_u32) {
        // A first delay is not part of the backoff.
        let n = if policy.get_first_delay().is_some() { n + 1 } else { n };
        if !matches!(policy.get_backoff(), Backoff::Custom(_)) {
            prop_assert!(policy.wait(n) <= policy.wait(n + 1));
        }
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn a_driven_session_stays_within_its_policy(
        policy in valid_policy(),
        budget in prop::option::of((1..60_000_u64).prop_map(Duration::from_millis)),
    ) {
        // Rules are for writing policies; a session obeys whatever it is given.
        let policy = budget.map_or(policy, |budget| policy.budget(budget));
        let limited = matches!(policy.get_attempts(), Attempts::Limited(_));
        let policy = if limited { policy } else { policy.attempts(50) };
        let (error, calls) = drive(policy);

        prop_assert!(!policy.allows_after(u32::try_from(calls.len()).unwrap()) || error.reason() != Reason::Attempts);
        prop_assert!(policy.allows_after(u32::try_from(calls.len()).unwrap() - 1), "a call too many");
        prop_assert_eq!(usize::try_from(error.attempts()).unwrap(), calls.len());
        match error.reason() {
            Reason::Attempts => prop_assert!(!policy.allows_after(error.attempts())),
            Reason::Budget => prop_assert!(policy.get_budget().is_some()),
            Reason::Deadline => prop_assert!(policy.get_deadline().is_some()),
            Reason::MaxElapsed => prop_assert!(policy.get_max_elapsed().is_some()),
            other => prop_assert!(false, "{}", other),
        }
        if let Some(budget) = policy.get_budget() {
            prop_assert!(error.waited() <= budget);
        }
        if let Some(longest) = policy.longest_total_wait() {
            prop_assert!(error.waited() <= longest);
        }
        // The timer sleeps in whole milliseconds, and never too short.
        let tick = Duration::from_millis(1);
        let mut previous = None;
        for (n, gap) in (1..).zip(gaps(&calls)) {
            let (shortest, longest) = policy.wait_interval(n, previous);
            prop_assert!(shortest <= gap && gap <= longest + tick, "wait {}: {:?}", n, gap);
            previous = Some(gap);
        }
        let slept: Duration = gaps(&calls).iter().sum();
        prop_assert!(error.waited() <= slept);
        prop_assert!(slept <= error.waited() + tick * error.attempts());
    }
}

/// The parts of a policy that are written to a file: those that have an effect.
fn that_matters(policy: Policy) -> Policy {
    if policy.get_attempts() == Attempts::Limited(1) {
        let only = DEFAULT.attempts(1);
        let only = policy.get_deadline().map_or(only, |deadline| only.deadline(deadline));
        return policy.get_timeout().map_or(only, |timeout| only.timeout(timeout));
    }
    let is_in_vain = matches!(
        (policy.get_max_elapsed(), policy.get_deadline()),
        (Some(max_elapsed), Some(deadline)) if max_elapsed > deadline
    );
    let policy = if is_in_vain { policy.with_max_elapsed(Bound::None) } else { policy };
    match (policy.get_jitter(), policy.get_backoff()) {
        (Jitter::Decorrelated, _) => policy.backoff(DEFAULT.get_backoff()),
        (_, Backoff::Custom(_)) => policy.initial_delay(DEFAULT.get_initial_delay()),
        _ => policy,
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn a_valid_policy_survives_a_file(policy in valid_policy()) {
        let json = serde_json::to_string(&policy).unwrap();
        let from_json: Policy = serde_json::from_str(&json)
            .map_err(|error| TestCaseError::fail(format!("{json}: {error}")))?;
        prop_assert_eq!(from_json, that_matters(policy), "{}", json);

        let yaml = serde_saphyr::to_string(&policy).unwrap();
        let from_yaml: Policy = serde_saphyr::from_str(&yaml)
            .map_err(|error| TestCaseError::fail(format!("{yaml}: {error}")))?;
        prop_assert_eq!(from_yaml, that_matters(policy), "{}", yaml);
    }

    #[test]
    fn the_task_style_reads_the_same_numbers(
        retries in any::<u32>(),
        delay in 1..300_000_u64,
        more in 0..300_000_u64,
    ) {
        let millis = Duration::from_millis;
        #[expect(clippy::cast_precision_loss, reason = "they are small")]
        let seconds = |millis: u64| millis as f64 / 1_000.0;
        let task: TaskKeys = serde_json::from_value(json!({
            "max_retries": retries,
            "retry_delay": seconds(delay),
            "max_retry_delay": seconds(delay + more),
        })).unwrap();
        let policy = DEFAULT.initial_delay(millis(delay)).max_delay(millis(delay + more));
        prop_assert_eq!(task.policy().unwrap(), policy.attempts(retries.saturating_add(1)));
    }

    #[test]
    fn the_workflow_style_reads_the_same_numbers(
        attempts in 2..u32::MAX,
        initial in 1..30_000_u64,
        increment in 1..30_000_u64,
        tenths in 11..100_u32,
        curve in 0..4,
    ) {
        let millis = Duration::from_millis;
        let text = format!("{initial}ms");
        let base = f64::from(tenths) / 10.0;
        let (backoff, json) = match curve {
            0 => (Backoff::Fixed, json!({ "fixed": { "delay": text } })),
            1 => (
                Backoff::Linear { increment: millis(increment) },
                json!({ "linear": { "initial": text, "increment": format!("{increment}ms") } }),
            ),
            2 => (
                Backoff::Exponential { base },
                json!({ "exponential": { "initial": text, "multiplier": base } }),
            ),
            _ => (Backoff::Fibonacci, json!({ "fibonacci": { "initial": text } })),
        };
        let keys = json!({ "max_attempts": attempts, "backoff": json });
        let style: ErrorPolicy = serde_json::from_value(json!({ "retry_config": keys })).unwrap();
        let policy = DEFAULT.attempts(attempts).backoff(backoff).initial_delay(millis(initial));
        prop_assert_eq!(*style.get_retry_config(), policy);
    }
}

/// 1,000 waits with this jitter at a cap of 30 s.
fn at_the_cap(jitter: Jitter) -> Vec<Duration> {
    below_the_cap(Duration::from_secs(30), jitter)
}

/// 1,000 waits of this length with this jitter, and a cap of 30 s.
fn below_the_cap(wait: Duration, jitter: Jitter) -> Vec<Duration> {
    let policy = DEFAULT.attempts(1_001).backoff(Backoff::Fixed).initial_delay(wait);
    let policy = policy.max_delay(Duration::from_secs(30)).jitter(jitter);
    gaps(&drive(policy).1)
}

/// The bounds are at six standard deviations or more: one false alarm in a hundred million runs.
#[test]
fn jitter_is_uniform_and_does_not_pile_up_at_the_cap() {
    let s = Duration::from_secs;
    for (wait, jitter, shortest) in [
        (30, Jitter::Proportional(0.3), 21.0),
        (30, Jitter::Proportional(1.0), 0.0),
        (30, Jitter::Full, 0.0),
        (30, Jitter::Equal, 15.0),
        // Jitter that adds keeps its width below the cap.
        (30, Jitter::Up(0.3), 21.0),
        (20, Jitter::Added { least: s(2), most: s(15) }, 17.0),
        (30, Jitter::Added { least: s(2), most: s(7) }, 25.0),
        // Not by more than half of it.
        (20, Jitter::Up(1.0), 15.0),
        (30, Jitter::Up(1.0), 15.0),
        (1, Jitter::Added { least: s(0), most: s(60) }, 1.0),
        (0, Jitter::Added { least: s(10), most: s(50) }, 10.0),
        (9, Jitter::Added { least: s(20), most: s(50) }, 20.0),
    ] {
        let waits = below_the_cap(s(wait), jitter);
        assert_eq!(waits.len(), 1_000);
        let width = 30.0 - shortest;
        let mean = waits.iter().map(Duration::as_secs_f64).sum::<f64>() / 1_000.0;
        // The standard deviation of a uniform draw is width / √12; that of the mean of 1,000 is
        // width / 109.5.
        let off = (mean - f64::midpoint(shortest, 30.0)).abs();
        assert!(off < width / 109.5 * 6.0, "{jitter:?}: mean {mean}");
        for tenth in 0..10_u32 {
            let from = shortest + width / 10.0 * f64::from(tenth);
            let here = |wait: &&Duration| (from..from + width / 10.0).contains(&wait.as_secs_f64());
            let count = waits.iter().filter(here).count();
            // 100 are expected, with a standard deviation of 9.5.
            assert!((40..=160).contains(&count), "{jitter:?}: {count} in tenth {tenth}");
        }
        let at_cap = waits.iter().filter(|wait| **wait == Duration::from_secs(30)).count();
        assert!(at_cap < 10, "{jitter:?}: {at_cap} of 1000 at the cap");
    }
}

#[test]
fn each_wait_is_a_fresh_sample() {
    let mut waits = at_the_cap(Jitter::Full);
    waits.sort_unstable();
    waits.dedup();
    // Of 1,000 waits in 30,000 ticks, about 16 coincide by chance.
    assert!(waits.len() > 930, "only {} different waits", waits.len());
    assert_ne!(at_the_cap(Jitter::Full), at_the_cap(Jitter::Full), "nor is a call like another");
}
