//! Policies that are changed by name while the program runs: from where, what is said
//! of mistakes, and that calls obey them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proptest::prelude::*;
use retry_rules::{Rule, Rules};
use retry_runtime::{
    Attempts, Event, Jitter, Overrides, Policy, Reason, RetryError, Site, on_event, policy, report,
    retry, sites, with_overrides, with_overrides_sync,
};
use serde::Deserialize as _;

/// What is in force is so for the whole process: one test at a time, each in a runtime
/// with virtual time, before and after which nothing is in force.
fn alone<R>(test: impl Future<Output = R>) -> R {
    static ONE: Mutex<()> = Mutex::new(());

    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    Overrides::clear();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let result = runtime.block_on(test);
    Overrides::clear();
    result
}

const SHARED: Policy = policy!(attempts = 3, deadline = "1m");

#[retry(attempts = 5, jitter, name = "billing.fetch")]
async fn fetch() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 3, timeout = "2s", deadline = "1m", name = "billing.pay")]
async fn pay(takes: Duration) -> Result<u32, RetryError<String>> {
    tokio::time::sleep(takes).await;
    Err("no".to_owned())
}

#[retry(policy = SHARED, initial_delay = "10ms", name = "shop.order")]
async fn order() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 4, initial_delay = "1ms", name = "shop.look")]
fn look() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(policy = SHARED, initial_delay = "1ms", name = "shop.look-up")]
fn look_up() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 4, initial_delay = "1ms", name = "shop.look.up")]
fn look_up_too() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 10, backoff = fixed, max_elapsed = "1m", name = "shop.patient")]
async fn patient() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = N, initial_delay = "1ms", name = "shop.generic")]
async fn generic<const N: u32>() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

/// Its waits are what the server asks for, so the budget below the first one is none.
#[retry(budget = "100ms", retry_after = |_| Some(Duration::from_millis(10)), name = "shop.asks")]
async fn asks() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(
    backoff = custom("10ms", "20ms"), name = "shop.custom", context = cx,
)]
async fn custom(last: &Mutex<Vec<bool>>) -> Result<u32, RetryError<String>> {
    last.lock().unwrap().push(cx.is_last());
    Err("no".to_owned())
}

/// Twice the same name.
mod twins {
    use retry_runtime::retry;

    #[retry(attempts = 4, name = "twin")]
    pub fn one() -> Result<u32, String> {
        Ok(1)
    }

    #[retry(attempts = 6, initial_delay = "20ms", name = "twin")]
    pub fn two() -> Result<u32, String> {
        Ok(2)
    }
}

fn site(name: &str) -> &'static Site {
    sites().into_iter().find(|site| site.name() == name).unwrap()
}

fn in_force(name: &str) -> String {
    site(name).policy().unwrap().to_string()
}

fn of(name: &str, key: &str, value: &str) -> Overrides {
    Overrides::from_pairs([(name, key, value)]).unwrap_or_else(|error| panic!("{error}"))
}

fn yaml(text: &str) -> Overrides {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// What a reader of YAML says first; a picture of the place follows.
fn wrong_yaml(text: &str) -> String {
    let error = serde_saphyr::from_str::<Overrides>(text).unwrap_err().to_string();
    error.lines().next().unwrap().to_owned()
}

fn wrong<const N: usize>(changes: [(&str, &str, &str); N]) -> String {
    Overrides::from_pairs(changes).unwrap_err().to_string()
}

fn vars<const N: usize>(vars: [(&str, &str); N]) -> Result<Overrides, String> {
    Overrides::from_vars("RETRY_", vars).map_err(|error| error.to_string())
}

async fn attempts_of_fetch() -> u32 {
    fetch().await.unwrap_err().attempts()
}

// What is read.

#[test]
fn a_change_is_of_the_keys_that_it_names_and_the_others_stay_as_they_are_compiled() {
    alone(async {
        let overrides = yaml("billing.fetch:\n  attempts: 2\n  max_delay: 10s\n");
        assert!(!site("billing.fetch").is_overridden());
        overrides.apply();
        assert_eq!(
            in_force("billing.fetch"),
            "2 attempts, exponential (base 2) from 1s to 10s, jitter ±30 %"
        );
        assert!(site("billing.fetch").is_overridden());
        assert!(!site("billing.pay").is_overridden());
        assert_eq!(site("billing.fetch").compiled().unwrap().get_attempts(), Attempts::Limited(5));
        assert_eq!(attempts_of_fetch().await, 2);
    });
}

#[test]
fn every_key_can_be_changed() {
    let overrides = yaml(
        "billing.pay:
  attempts: unlimited
  backoff: { linear: { increment: 2s } }
  initial_delay: 10ms
  max_delay: 20s
  first_delay: 5ms
  jitter: true
  jitter_factor: 0.1
  retry_budget: 1h
  deadline: 2h
  timeout: 3s
billing.fetch: { budget: 7s, jitter_factor: 0.9 }
",
    );
    assert_eq!(
        format!("{overrides:?}"),
        "Overrides {\
         \"billing.fetch\": \"5 attempts, exponential (base 2) from 1s to 30s, jitter ±90 %, budget 7s\", \
         \"billing.pay\": \"unlimited attempts, first wait 5ms, then linear from 10ms by 2s to 20s, jitter ±10 %, budget 1h, \
         deadline 2h, timeout 3s\"}"
    );
}

#[test]
fn an_empty_file_changes_nothing() {
    for text in ["", "# all of it commented out\n", "{}"] {
        assert_eq!(format!("{:?}", yaml(text)), "Overrides {}");
    }
}

#[test]
fn any_format_of_serde_is_read() {
    let value = serde_json::json!({ "billing.fetch": { "attempts": 2 } });
    let overrides = Overrides::deserialize(value).unwrap();
    assert!(format!("{overrides:?}").contains("2 attempts"));
}

#[test]
fn what_stands_under_a_name_comes_on_top_of_the_star() {
    alone(async {
        yaml("\"*\":\n  attempts: 2\n  max_delay: 10s\nbilling.fetch:\n  attempts: 4\n").apply();
        assert_eq!(
            in_force("billing.fetch"),
            "4 attempts, exponential (base 2) from 1s to 10s, jitter ±30 %"
        );
        assert_eq!(
            in_force("shop.order"),
            "2 attempts, exponential (base 2) from 10ms to 10s, deadline 1m"
        );
    });
}

#[test]
fn the_star_changes_bounds_in_time_and_jitter_factors_where_they_are() {
    alone(async {
        yaml("\"*\": { timeout: 1s, deadline: 30s, jitter_factor: 0.7 }").apply();
        let compiled = *site("billing.pay").compiled().unwrap();
        let (secs, pay) = (Duration::from_secs, site("billing.pay").policy().unwrap());
        assert_eq!(pay, compiled.timeout(secs(1)).deadline(secs(30)));
        let fetch = site("billing.fetch").policy().unwrap();
        assert_eq!((fetch.get_timeout(), fetch.get_deadline()), (None, None));
        assert_eq!(fetch.get_jitter(), Jitter::Proportional(0.7));
        assert!(!site("shop.look").is_overridden());
    });
}

#[test]
fn a_bound_can_be_taken_away() {
    alone(async {
        yaml("\"*\": { deadline: unlimited, max_elapsed: unlimited, timeout: unlimited }").apply();
        assert_eq!(
            in_force("billing.pay"),
            "3 attempts, exponential (base 2) from 1s to 30s, deadline unlimited, timeout unlimited"
        );
        assert!(!site("billing.fetch").is_overridden(), "there is none");
        let began = tokio::time::Instant::now();
        assert_eq!(pay(Duration::from_secs(90)).await.unwrap_err().last().unwrap(), "no");
        assert_eq!(began.elapsed().as_secs(), 273);

        // And be another one by what comes on top.
        let both = of("*", "timeout", "unlimited").merge(&of("*", "timeout", "1s")).unwrap();
        both.apply();
        assert_eq!(
            site("billing.pay").policy().unwrap().get_timeout(),
            Some(Duration::from_secs(1))
        );

        of("billing.fetch", "budget", "unlimited").apply();
        yaml("billing.fetch: { attempts: unlimited, budget: unlimited }");
        assert!(
            wrong([("billing.fetch", "attempts", "unlimited")]).contains("`budget: unlimited`")
        );
    });
}

#[test]
fn the_time_that_may_elapse_can_be_changed_where_a_function_looks_at_it() {
    alone(async {
        let began = tokio::time::Instant::now();
        assert_eq!(patient().await.unwrap_err().attempts(), 10);
        assert_eq!(began.elapsed().as_secs(), 9);
        of("shop.patient", "max_elapsed", "4s").apply();
        let error = patient().await.unwrap_err();
        assert_eq!((error.attempts(), error.reason()), (5, Reason::MaxElapsed));
        of("shop.patient", "max_elapsed", "unlimited").apply();
        assert_eq!(patient().await.unwrap_err().attempts(), 10);
        assert!(
            wrong([("billing.fetch", "max_elapsed", "4s")])
                .starts_with("`billing.fetch`: there is no `max_elapsed` in its #[retry]")
        );
    });
}

#[test]
fn a_policy_that_depends_on_a_parameter_is_changed_in_every_instance() {
    alone(async {
        for target in ["*", "shop.generic"] {
            of(target, "attempts", "2").apply();
            assert_eq!(generic::<4>().await.unwrap_err().attempts(), 2, "{target}");
            assert_eq!(generic::<7>().await.unwrap_err().attempts(), 2, "{target}");
            Overrides::default().apply();
            assert_eq!(generic::<4>().await.unwrap_err().attempts(), 4, "{target}");
        }
    });
}

#[test]
fn the_star_asks_nobody_whether_it_is_in_vain() {
    // A first wait plays no part in custom delays, which is a mistake by name only.
    let overrides = yaml("\"*\": { initial_delay: 15ms, max_delay: 1m }");
    assert!(
        format!("{overrides:?}")
            .contains("\"shop.custom\": \"3 attempts, custom 10ms, 20ms, then 1m\"")
    );
    assert_eq!(
        wrong([("shop.custom", "initial_delay", "15ms")]),
        "`shop.custom`: `initial_delay` has no effect on a custom backoff: make it the first of the \
         custom delays, or remove it"
    );
}

#[test]
fn all_functions_of_a_name_are_changed() {
    assert_eq!((twins::one(), twins::two()), (Ok(1), Ok(2)));
    let overrides = format!("{:?}", of("twin", "attempts", "2"));
    assert!(overrides.contains("2 attempts, exponential (base 2) from 1s to 30s"), "{overrides}");
    assert!(overrides.contains("2 attempts, exponential (base 2) from 20ms to 30s"), "{overrides}");
}

#[test]
fn values_are_read_as_a_person_writes_them() {
    let read = |key, value| {
        let overrides = format!("{:?}", of("shop.order", key, value));
        overrides.split('"').nth(3).unwrap().to_owned()
    };
    for (key, value, expected) in [
        ("attempts", " 7 ", "7 attempts, exponential (base 2) from 10ms to 30s, deadline 1m"),
        (
            "attempts",
            "unlimited",
            "unlimited attempts, exponential (base 2) from 10ms to 30s, deadline 1m",
        ),
        ("backoff", "fixed", "3 attempts, fixed 10ms, deadline 1m"),
        (
            "backoff",
            "linear(increment = 2s)",
            "3 attempts, linear from 10ms by 2s to 30s, deadline 1m",
        ),
        (
            "backoff",
            "linear(increment = \"2s\")",
            "3 attempts, linear from 10ms by 2s to 30s, deadline 1m",
        ),
        (
            "backoff",
            "exponential(base = 1.5)",
            "3 attempts, exponential (base 1.5) from 10ms to 30s, deadline 1m",
        ),
        (
            "backoff",
            "exponential()",
            "3 attempts, exponential (base 2) from 10ms to 30s, deadline 1m",
        ),
        ("backoff", "custom(500ms, 1s)", "3 attempts, custom 500ms, 1s, then 30s, deadline 1m"),
        (
            "max_delay",
            "1m 30s",
            "3 attempts, exponential (base 2) from 10ms to 1m 30s, deadline 1m",
        ),
        (
            "jitter",
            "true",
            "3 attempts, exponential (base 2) from 10ms to 30s, jitter ±30 %, deadline 1m",
        ),
        (
            "jitter",
            "0.5",
            "3 attempts, exponential (base 2) from 10ms to 30s, jitter ±50 %, deadline 1m",
        ),
        (
            "jitter",
            "full",
            "3 attempts, exponential (base 2) from 10ms to 30s, full jitter, deadline 1m",
        ),
        (
            "budget",
            "5m",
            "3 attempts, exponential (base 2) from 10ms to 30s, budget 5m, deadline 1m",
        ),
        ("deadline", "2m", "3 attempts, exponential (base 2) from 10ms to 30s, deadline 2m"),
    ] {
        assert_eq!(read(key, value), expected, "{key} = {value}");
    }
}

#[test]
fn variables_of_the_command_are_left_alone() {
    let vars = [("RETRY_WORKFLOW_JOB", "import-1"), ("RETRY_TEST_POSTGRES", "postgres://")];
    Overrides::from_vars("RETRY_", vars).unwrap();
    assert!(Overrides::from_vars("RETRY_", [("RETRY_WORKFLOWS_JOB", "import-1")]).is_err());
}

#[test]
fn variables_name_a_function_in_capitals_and_a_key() {
    let overrides = vars([
        ("RETRY_BILLING_FETCH_ATTEMPTS", "2"),
        ("RETRY_BILLING_FETCH_RETRY_BUDGET", "5m"),
        ("RETRY_ALL_MAX_DELAY", "40s"),
        ("HOME", "/"),
    ]);
    let overrides = format!("{:?}", overrides.unwrap());
    assert!(
        overrides.contains(
            "\"billing.fetch\": \"2 attempts, exponential (base 2) from 1s to 40s, jitter ±30 %, budget 5m\""
        ),
        "{overrides}"
    );
    let other =
        Overrides::from_vars("SHOP_", [("SHOP_TWIN_ATTEMPTS", "2"), ("RETRY_X", "?")]).unwrap();
    assert!(format!("{other:?}").contains("twin"));
    assert_eq!(
        format!("{:?}", Overrides::from_env_with_prefix("NOBODY_HAS_THIS_").unwrap()),
        "Overrides {}"
    );
}

#[test]
fn what_comes_on_top_goes_for_more_by_the_star_too() {
    alone(async {
        let file = yaml("billing.fetch: { attempts: 7, initial_delay: 2s }");
        let stop = vars([("RETRY_ALL_ATTEMPTS", "1")]).unwrap();
        file.merge(&stop).unwrap().apply();
        assert_eq!(
            in_force("billing.fetch"),
            "1 attempt, exponential (base 2) from 2s to 30s, jitter ±30 %"
        );
        stop.merge(&file).unwrap().apply();
        assert_eq!(site("billing.fetch").policy().unwrap().get_attempts(), Attempts::Limited(7));
        assert_eq!(site("shop.order").policy().unwrap().get_attempts(), Attempts::Limited(1));
    });
}

#[test]
fn what_is_right_by_itself_may_be_wrong_together() {
    let (slow, short) =
        (of("billing.fetch", "initial_delay", "10s"), of("billing.fetch", "max_delay", "5s"));
    assert_eq!(
        slow.merge(&short).unwrap_err().to_string(),
        "`billing.fetch`: `initial_delay` is longer than `max_delay`, which caps every wait: \
         lower the first or raise the second (initial_delay 10s, max_delay 5s)"
    );
}

#[test]
fn a_rule_that_the_compiled_policy_breaks_with_reason_is_not_held_against_a_change() {
    alone(async {
        of("shop.asks", "attempts", "2").apply();
        assert_eq!(asks().await.unwrap_err().attempts(), 2);
    });
}

#[test]
fn nothing_stands_against_fewer_attempts_for_all() {
    alone(async {
        for attempts in ["1", "2"] {
            of("*", "attempts", attempts).apply();
            for site in sites() {
                let Some(policy) = site.policy() else { continue };
                assert_eq!(policy.get_attempts().to_string(), attempts, "{}", site.name());
            }
        }
        // What is written anew is judged by itself.
        assert_eq!(
            wrong([("billing.pay", "backoff", "custom(1s, 2s, 3s)")]),
            "`billing.pay`: there are more custom delays than waits, and the extra ones are never used: \
             n attempts wait n - 1 times; raise `attempts` or remove them (3 delays, 3 attempts)"
        );
    });
}

// What is said of mistakes.

#[test]
fn a_name_or_a_key_that_nobody_knows_is_told_with_its_place() {
    const KEYS: &str = "`attempts`, `max_attempts`, `backoff`, `initial_delay`, `max_delay`, `first_delay`, `jitter`, \
                        `jitter_factor`, `retry_budget`, `budget`, `deadline`, `max_elapsed`, `timeout`";

    let known = "the functions with #[retry] are `billing.fetch`, `billing.pay`, `shop.asks`, `shop.custom`, \
                 `shop.generic`, `shop.look`, `shop.look-up`, `shop.look.up`, `shop.order`, `shop.patient`, `twin`";
    for (text, complaint) in [
        (
            "billing.pay:\n  attempts: 2\nbilling.fetc:\n  attempts: 2\n",
            format!(
                "error: line 3 column 1: unknown function `billing.fetc`: did you mean `billing.fetch`? {known}"
            ),
        ),
        (
            "fetch:\n  attempts: 2\n",
            format!(
                "error: line 1 column 1: unknown function `fetch`: did you mean `billing.fetch`? {known}"
            ),
        ),
        (
            "billing.fetch:\n  jitter: true\n  atempts: 2\n",
            format!(
                "error: line 3 column 3: unknown key `atempts`: did you mean `attempts`? the keys are {KEYS}"
            ),
        ),
        (
            "billing.fetch:\n  retry_on: [network]\n",
            format!(
                "error: line 2 column 3: `retry_on` cannot be changed while the program runs: \
                 it is compiled into the function; what can be changed is {KEYS}"
            ),
        ),
        (
            "billing.fetch:\n  attempts: 2\n  on_failure: stop\n",
            format!(
                "error: line 3 column 3: `on_failure` cannot be changed while the program runs: \
                 it is compiled into the function; what can be changed is {KEYS}"
            ),
        ),
    ] {
        assert_eq!(wrong_yaml(text), complaint, "{text}");
    }
}

#[test]
fn a_value_that_does_not_suit_is_told_with_its_place() {
    for (text, complaint) in [
        (
            "billing.fetch:\n  attempts: many\n",
            "error: line 2 column 13: \"many\": expected a number of attempts, or `unlimited`",
        ),
        (
            "billing.fetch:\n  max_delay: 5\n",
            "error: line 2 column 14: \"5\": a duration needs a unit: write `\"5s\"` for seconds or `\"5ms\"` \
             for milliseconds",
        ),
        (
            "billing.pay:\n  jitter: true\nbilling.fetch:\n  max_delay: 500ms\n",
            "error: line 4 column 3: `billing.fetch`: `initial_delay` is longer than `max_delay`, which caps \
             every wait: lower the first or raise the second (initial_delay 1s, max_delay 500ms)",
        ),
        (
            "billing.fetch:\n  attempts: 0\n",
            "error: line 2 column 3: `billing.fetch`: `attempts` counts the calls, the first included, so it is \
             at least 1: write `attempts: 1` for a single call, or leave it out for as many as are compiled",
        ),
        (
            "billing.fetch:\n  attempts: unlimited\n",
            "error: line 2 column 3: `billing.fetch`: `attempts: unlimited` never ends by itself: \
             add a `budget` (bounds the waits), a `deadline` (bounds the whole call) or a `max_elapsed` \
             (no attempt begins later); who means it writes `budget: unlimited`",
        ),
        (
            "billing.pay:\n  jitter_factor: 0.5\n",
            "error: line 2 column 3: `billing.pay`: `jitter_factor` only matters to `jitter: true`: add it, \
             or write `jitter: 0.5` instead",
        ),
        (
            "billing.fetch:\n  timeout: 5s\n",
            "error: line 2 column 3: `billing.fetch`: there is no `timeout` in its #[retry], and only one that \
             is there can be changed: what watches over it is compiled into the function",
        ),
        (
            "shop.look:\n  deadline: 5s\n",
            "error: line 2 column 3: `shop.look`: there is no `deadline` in its #[retry], and only one that \
             is there can be changed: what watches over it is compiled into the function",
        ),
        (
            "shop.generic:\n  timeout: 5s\n",
            "error: line 2 column 3: `shop.generic`: only its calls know whether it has a `timeout` in its #[retry], \
             and only one that is there can be changed: what watches over it is compiled into the function",
        ),
        (
            "\"*\":\n  max_delay: 9s\n  backoff: { custom: { delays: [10s] } }\nbilling.pay: { max_delay: 10s }\n",
            "`billing.fetch`: this delay is longer than `max_delay`, which caps every wait: \
             lower it or raise `max_delay`; and 9 more, of other functions",
        ),
        ("[1]", "error: line 1 column 1: expected mapping start"),
    ] {
        assert_eq!(wrong_yaml(text), complaint, "{text}");
    }
    assert_eq!(
        serde_json::from_str::<Overrides>(r#"{ "twin": {}, "twin": {} }"#).unwrap_err().to_string(),
        "`twin` stands here twice: keep one at line 1 column 20"
    );
    assert_eq!(
        serde_json::from_str::<Overrides>("[]").unwrap_err().to_string(),
        "invalid type: sequence, expected a map of functions, each a map of what is to be changed, \
         such as { attempts: 2 } at line 1 column 0"
    );
}

#[test]
fn all_mistakes_of_a_list_are_told() {
    let told = wrong([
        ("billing.fetch", "attempts", "two"),
        ("billing.fetc", "attempts", "2"),
        ("billing.fetch", "atempts", "2"),
        ("billing.fetch", "backoff", "linear"),
        ("billing.fetch", "backoff", "custom"),
        ("billing.fetch", "backoff", "exponential(base = two)"),
        ("billing.fetch", "jitter_factor", "half"),
        ("billing.fetch", "timeout", "5"),
        ("billing.pay", "budget", "5s"),
        ("billing.pay", "retry_budget", "6s"),
    ]);
    let told: Vec<_> = told.lines().collect();
    assert!(told[0].starts_with(
        "unknown function `billing.fetc`: did you mean `billing.fetch`? the functions"
    ));
    assert!(told[1].starts_with(
        "`billing.fetch`: unknown key `atempts`: did you mean `attempts`? the keys are"
    ));
    assert_eq!(
        told[2..],
        [
            "`attempts` of `billing.fetch`: \"two\": expected a number of attempts, or `unlimited`",
            "`backoff` of `billing.fetch`: a linear backoff needs its `increment`: write `linear(increment = 2s)`",
            "`backoff` of `billing.fetch`: a custom backoff needs its `delays`: write `custom(500ms, 1s)`",
            "`backoff` of `billing.fetch`: \"two\": expected a number",
            "`jitter_factor` of `billing.fetch`: \"half\": expected a number",
            "`timeout` of `billing.fetch`: \"5\": a duration needs a unit: write `\"5s\"` for seconds or `\"5ms\"` \
             for milliseconds",
            "`budget` of `billing.pay` and `retry_budget` of `billing.pay` say the same twice: keep one",
        ]
    );
    let zero = "`attempts` counts the calls, the first included, so it is at least 1: \
                write `attempts: 1` for a single call, or leave it out for as many as are compiled";
    assert_eq!(
        wrong([("billing.fetch", "attempts", "0"), ("billing.pay", "attempts", "0")]),
        format!("`billing.fetch`: {zero}\n`billing.pay`: {zero}")
    );
}

#[test]
fn a_mistake_in_the_environment_is_told_with_its_variable() {
    for (variable, value, complaint) in [
        (
            "RETRY_BILLING_FETC_ATTEMPTS",
            "2",
            "unknown variable `RETRY_BILLING_FETC_ATTEMPTS`: did you mean `RETRY_BILLING_FETCH_ATTEMPTS`? \
             `BILLING_FETC` is not a function with #[retry], written in capitals, nor ALL",
        ),
        (
            "RETRY_BILLING_FETCH_ATEMPTS",
            "2",
            "unknown variable `RETRY_BILLING_FETCH_ATEMPTS`: did you mean `RETRY_BILLING_FETCH_ATTEMPTS`?",
        ),
        (
            "RETRY_BILLING_FETCH_attempts",
            "2",
            "unknown variable `RETRY_BILLING_FETCH_attempts`: did you mean `RETRY_BILLING_FETCH_ATTEMPTS`?",
        ),
        (
            "RETRY_ATTEMPTS",
            "2",
            "unknown variable `RETRY_ATTEMPTS`: did you mean `RETRY_ALL_ATTEMPTS`, for all functions?",
        ),
        (
            "RETRY_QUICKLY",
            "1",
            "unknown variable `RETRY_QUICKLY`: after `RETRY_` come a function's name in capitals, or ALL, and one \
             of `ATTEMPTS`, `MAX_ATTEMPTS`, `BACKOFF`, `INITIAL_DELAY`, `MAX_DELAY`, `FIRST_DELAY`, `JITTER`, \
             `JITTER_FACTOR`, `RETRY_BUDGET`, `BUDGET`, `DEADLINE`, `MAX_ELAPSED`, `TIMEOUT`",
        ),
        (
            "RETRY_BILLING_FETCH_RETRY_ON",
            "network",
            "`RETRY_BILLING_FETCH_RETRY_ON`: of `billing.fetch`: `retry_on` cannot be changed while the program \
             runs: it is compiled into the function; what can be changed is `attempts`, `max_attempts`, `backoff`, \
             `initial_delay`, `max_delay`, `first_delay`, `jitter`, `jitter_factor`, `retry_budget`, `budget`, \
             `deadline`, `max_elapsed`, `timeout`",
        ),
        (
            "RETRY_BILLING_FETCH_MAX_DELAY",
            "5",
            "`RETRY_BILLING_FETCH_MAX_DELAY`: \"5\": a duration needs a unit: write `\"5s\"` for seconds or \
             `\"5ms\"` for milliseconds",
        ),
        (
            "RETRY_BILLING_FETCH_MAX_DELAY",
            "500ms",
            "`RETRY_BILLING_FETCH_MAX_DELAY`: `billing.fetch`: `initial_delay` is longer than `max_delay`, which \
             caps every wait: lower the first or raise the second (initial_delay 1s, max_delay 500ms)",
        ),
        (
            "RETRY_SHOP_LOOK_UP_ATTEMPTS",
            "2",
            "`RETRY_SHOP_LOOK_UP_ATTEMPTS` may mean `attempts` of `shop.look-up` or `attempts` of `shop.look.up`: \
             change it by its name, in a file or by `Overrides::from_pairs`, or give one of them another `name`",
        ),
    ] {
        assert_eq!(vars([(variable, value)]).unwrap_err(), complaint);
    }
    let both = vars([("RETRY_TWIN_ATTEMPTS", "x"), ("RETRY_TWIN_JITTER", "y")]).unwrap_err();
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn what_is_refused_leaves_everything_as_it_was() {
    alone(async {
        of("billing.fetch", "attempts", "2").apply();
        let before = report().to_string();
        wrong_yaml("billing.fetch: { attempts: 9 }\nbilling.pay: { atempts: 9 }");
        wrong([("billing.fetch", "attempts", "9"), ("billing.pay", "attempts", "0")]);
        vars([("RETRY_BILLING_FETCH_ATTEMPTS", "9"), ("RETRY_?", "")]).unwrap_err();
        assert_eq!(report().to_string(), before);
        assert_eq!(attempts_of_fetch().await, 2);
    });
}

// What is in force.

#[test]
fn what_is_applied_takes_the_place_of_what_was() {
    alone(async {
        of("billing.fetch", "attempts", "2").apply();
        assert_eq!(attempts_of_fetch().await, 2);
        of("billing.pay", "attempts", "2").apply();
        assert_eq!(attempts_of_fetch().await, 5);
        assert_eq!(pay(Duration::ZERO).await.unwrap_err().attempts(), 2);
        Overrides::clear();
        assert_eq!(pay(Duration::ZERO).await.unwrap_err().attempts(), 3);
    });
}

#[test]
fn each_function_whose_policy_becomes_another_one_is_reported() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    alone(async {
        let listening = on_event(|event| {
            if let Event::Policy { .. } = event {
                HEARD.lock().unwrap().push(event.to_string());
            }
        });
        let both = yaml("billing.fetch: { attempts: 2 }\nbilling.pay: { attempts: 2 }");
        both.apply();
        both.apply();
        of("billing.fetch", "attempts", "2").apply();
        // As it is compiled: no change.
        of("billing.fetch", "attempts", "5").apply();
        assert!(!site("billing.fetch").is_overridden());
        listening.stop();
    });
    let (fetch, pay) = (
        "exponential (base 2) from 1s to 30s, jitter ±30 %",
        "exponential (base 2) from 1s to 30s, deadline 1m, timeout 2s",
    );
    assert_eq!(
        *HEARD.lock().unwrap(),
        [
            format!("billing.fetch: the policy is now 2 attempts, {fetch}"),
            format!("billing.pay: the policy is now 2 attempts, {pay}"),
            format!("billing.pay: the policy is now 3 attempts, {pay}"),
            format!("billing.fetch: the policy is now 5 attempts, {fetch}"),
        ]
    );
}

#[test]
fn a_listener_may_apply_changes_itself() {
    alone(async {
        let listening = on_event(|event| {
            if let Event::Policy { .. } = event {
                Overrides::clear();
            }
        });
        of("billing.fetch", "attempts", "2").apply();
        listening.stop();
        assert!(!site("billing.fetch").is_overridden());
    });
}

#[test]
fn the_report_marks_what_is_overridden() {
    alone(async {
        of("billing.fetch", "attempts", "2").apply();
        let report = report().to_string();
        let line = |name| report.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(
            line("billing.fetch")
                .contains("2 attempts, exponential (base 2) from 1s to 30s, jitter ±30 % (over")
        );
        assert!(!line("billing.pay").contains("overridden"));
    });
}

#[test]
fn a_call_under_way_obeys_the_new_policy_from_its_next_failure_on() {
    alone(async {
        let call = tokio::spawn(fetch());
        tokio::time::sleep(Duration::from_millis(1)).await;
        of("billing.fetch", "attempts", "2").apply();
        assert_eq!(call.await.unwrap().unwrap_err().attempts(), 2);
    });
}

#[test]
fn bounds_in_time_are_those_of_the_moment_at_which_a_call_begins() {
    alone(async {
        of("billing.pay", "timeout", "100ms").apply();
        let began = tokio::time::Instant::now();
        let call = pay(Duration::from_secs(1));
        let error = call.await.unwrap_err();
        assert_eq!((error.attempts(), error.reason()), (3, Reason::Attempts));
        assert_eq!(began.elapsed().as_millis(), 3_300);

        yaml("billing.pay: { deadline: 1500ms, timeout: 1500ms }").apply();
        let call = tokio::spawn(pay(Duration::from_secs(1)));
        tokio::time::sleep(Duration::from_millis(1)).await;
        Overrides::clear();
        assert_eq!(call.await.unwrap().unwrap_err().reason(), Reason::Deadline);
    });
}

#[test]
fn the_body_sees_how_many_attempts_there_are_now() {
    alone(async {
        of("shop.custom", "attempts", "4").apply();
        let last = Mutex::new(Vec::new());
        assert!(custom(&last).await.is_err());
        assert_eq!(*last.lock().unwrap(), [false, false, false, true]);
    });
}

#[test]
fn functions_that_are_not_async_obey_too() {
    alone(async {
        of("shop.look", "attempts", "2").apply();
        assert_eq!(look().unwrap_err().attempts(), 2);
        of("shop.look-up", "deadline", "2ms").apply();
        assert_eq!(look_up().unwrap_err().reason(), Reason::Deadline);
        assert!(look_up_too().is_err());
    });
}

#[test]
fn changes_are_whole_while_calls_fail_on_other_threads() {
    alone(async {
        let odd = yaml("shop.look: { attempts: 3, initial_delay: 0s, backoff: fixed }");
        let even = yaml("shop.look: { attempts: 4, initial_delay: 1ms, backoff: fixed }");
        let over = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let writers: Vec<_> = [&odd, &even]
                .into_iter()
                .map(|overrides| threads.spawn(move || (0..2_000).for_each(|_| overrides.apply())))
                .collect();
            for _ in 0..2 {
                threads.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let policy = site("shop.look").policy().unwrap();
                        let whole = [
                            "3 attempts, fixed 0s",
                            "4 attempts, fixed 1ms",
                            "4 attempts, exponential (base 2) from 1ms to 30s",
                        ];
                        let shown = policy.to_string();
                        assert!(whole.contains(&shown.as_str()), "{shown}");
                        assert!([3, 4].contains(&look().unwrap_err().attempts()));
                    }
                });
            }
            for writer in writers {
                writer.join().unwrap();
            }
            over.store(true, Ordering::Relaxed);
        });
        // The last one is in force, and no mixture of both.
        odd.apply();
        assert_eq!(in_force("shop.look"), "3 attempts, fixed 0s");
    });
}

// Scopes.

#[test]
fn a_scope_is_for_what_is_called_in_it() {
    alone(async {
        let two = of("billing.fetch", "attempts", "2");
        assert_eq!(with_overrides(&two, attempts_of_fetch()).await, 2);
        assert_eq!(attempts_of_fetch().await, 5);
        assert!(!site("billing.fetch").is_overridden());
        // Others run meanwhile, as they are.
        let (inside, outside) =
            tokio::join!(with_overrides(&two, attempts_of_fetch()), attempts_of_fetch());
        assert_eq!((inside, outside), (2, 5));
    });
}

#[test]
fn a_scope_comes_on_top_of_what_is_in_force_and_of_the_scope_around_it() {
    alone(async {
        yaml("billing.fetch: { attempts: 4, initial_delay: 2s, jitter: none }").apply();
        let two = of("billing.fetch", "attempts", "2");
        let slow = of("billing.fetch", "initial_delay", "7s");
        let error = with_overrides(&two, fetch()).await.unwrap_err();
        assert_eq!((error.attempts(), error.waited().as_secs()), (2, 2));
        let error = with_overrides(&two, with_overrides(&slow, fetch())).await.unwrap_err();
        assert_eq!((error.attempts(), error.waited().as_secs()), (2, 7));
        let three = of("billing.fetch", "attempts", "3");
        let error = with_overrides(&two, with_overrides(&three, fetch())).await.unwrap_err();
        assert_eq!(error.attempts(), 3);
    });
}

#[test]
fn a_scope_that_breaks_a_rule_together_with_others_goes_alone() {
    alone(async {
        // By itself, each ends; together they would try for ever, without a wait.
        yaml("billing.fetch: { backoff: fixed, initial_delay: 0s, jitter: none }").apply();
        let unlimited = yaml("billing.fetch: { attempts: unlimited, budget: 10s }");
        let error = with_overrides(&unlimited, fetch()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::Budget);
        assert!(error.attempts() < 10, "{error}");
    });
}

#[test]
fn functions_that_are_not_async_see_the_scope_around_them() {
    alone(async {
        let two = of("shop.look", "attempts", "2");
        assert_eq!(with_overrides(&two, async { look().unwrap_err().attempts() }).await, 2);
        assert_eq!(with_overrides_sync(&two, look).unwrap_err().attempts(), 2);
        let three = of("shop.look", "attempts", "3");
        let nested = with_overrides_sync(&two, || with_overrides_sync(&three, look));
        assert_eq!(nested.unwrap_err().attempts(), 3);
        assert_eq!(look().unwrap_err().attempts(), 4);
    });
    // Without any runtime, too.
    let two = of("shop.look", "attempts", "2");
    let thread =
        std::thread::spawn(move || with_overrides_sync(&two, look).unwrap_err().attempts());
    assert_eq!(thread.join().unwrap(), 2);
}

#[test]
fn a_spawned_task_does_not_inherit_the_scope() {
    alone(async {
        let two = of("billing.fetch", "attempts", "2");
        let spawned =
            with_overrides(&two, async { tokio::spawn(attempts_of_fetch()).await.unwrap() });
        assert_eq!(spawned.await, 5);
        // But a scope can be taken along.
        assert_eq!(tokio::spawn(with_overrides(&two, attempts_of_fetch())).await.unwrap(), 2);
    });
}

#[test]
fn a_scope_bounds_time_and_is_seen_by_the_body() {
    alone(async {
        let hurried =
            yaml("billing.pay: { timeout: 100ms, attempts: 1 }\nshop.order: { deadline: 15ms }");
        let began = tokio::time::Instant::now();
        let error = with_overrides(&hurried, pay(Duration::from_secs(1))).await.unwrap_err();
        assert_eq!((error.attempts(), began.elapsed().as_millis()), (1, 100));
        let error = with_overrides(&hurried, order()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::Deadline);

        let last = Mutex::new(Vec::new());
        let four = yaml("shop.custom: { attempts: 4, max_delay: 1s }");
        assert!(with_overrides(&four, custom(&last)).await.is_err());
        assert_eq!(*last.lock().unwrap(), [false, false, false, true]);
    });
}

// What holds for all changes.

fn changes() -> impl Strategy<Value = Vec<(&'static str, &'static str, &'static str)>> {
    const NAMES: &[&str] = &[
        "*",
        "billing.fetch",
        "billing.pay",
        "shop.order",
        "shop.look",
        "shop.asks",
        "shop.custom",
        "twin",
    ];
    const WAITS: &[&str] = &["0s", "1ms", "90ms", "1s", "3s", "40s", "2m"];

    let key_and_value = prop_oneof![
        (
            Just("attempts"),
            proptest::sample::select(&["0", "1", "2", "3", "9", "unlimited", "4294967295"][..])
        ),
        (
            Just("backoff"),
            proptest::sample::select(
                &[
                    "fixed",
                    "linear(increment = 1s)",
                    "linear(increment = 0s)",
                    "exponential",
                    "exponential(base = 1.0)",
                    "fibonacci",
                    "custom(1ms, 2s)",
                    "custom(1ms, 2s, 3s, 4s)",
                ][..]
            )
        ),
        (Just("initial_delay"), proptest::sample::select(WAITS)),
        (Just("max_delay"), proptest::sample::select(WAITS)),
        (
            Just("jitter"),
            proptest::sample::select(
                &["true", "false", "full", "equal", "decorrelated", "0.5"][..]
            )
        ),
        (
            Just("jitter_factor"),
            proptest::sample::select(&["0.0", "0.5", "1", "1.5", "NaN", "-1"][..])
        ),
        (Just("budget"), proptest::sample::select(WAITS)),
        (Just("deadline"), proptest::sample::select(WAITS)),
        (Just("timeout"), proptest::sample::select(WAITS)),
    ];
    let change = (proptest::sample::select(NAMES), key_and_value);
    proptest::collection::vec(change.prop_map(|(name, (key, value))| (name, key, value)), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_too_strange(name in any::<String>(), value in any::<String>(), key in 0..10_usize) {
        let keys = ["attempts", "backoff", "max_delay", "jitter", "jitter_factor", "backoff", "backoff"];
        let key = keys.get(key).copied().unwrap_or(&value);
        for value in [value.clone(), format!("custom({value})"), format!("linear({value})"), format!("{value})")] {
            let _ = Overrides::from_pairs([("billing.fetch", key, value.as_str())]);
            let variable = format!("RETRY_BILLING_FETCH_{}", key.to_uppercase());
            let _ = Overrides::from_vars("RETRY_", [(variable, value)]);
        }
        for variable in [name.clone(), format!("RETRY_{name}"), format!("RETRY_ALL_{name}"), format!("RETRY_{name}_JITTER")] {
            let _ = Overrides::from_vars("RETRY_", [(variable, "full")]);
        }
        let _ = serde_saphyr::from_str::<Overrides>(&name);
        let _ = Overrides::from_pairs([(name, key.to_owned(), value)]);
    }

    #[test]
    fn what_is_accepted_keeps_the_rules_for_each_function(first in changes(), second in changes()) {
        let made = Overrides::from_pairs(first).and_then(|first| Ok((Overrides::from_pairs(second)?, first)));
        let Ok((second, first)) = made else { return Ok(()) };
        let sets = [Some(first.clone()), Some(second.clone()), first.merge(&second).ok()];
        for overrides in sets.into_iter().flatten() {
            let policies = alone(async {
                overrides.apply();
                sites().into_iter().map(|site| (site, site.policy())).collect::<Vec<_>>()
            });
            for (site, policy) in policies {
                let (Some(policy), Some(compiled)) = (policy, site.compiled()) else { continue };
                let broken = policy.validate().map_or_else(|invalid| invalid.broken(), |()| Rules::NONE);
                // The star does not ask how many delays a function can use, and what
                // a server asks for may be below the budget that the curve exceeds.
                let mut spared = Rules::NONE.with(Rule::CustomDelaysUnused);
                if site.name() == "shop.asks" {
                    spared = spared.with(Rule::BudgetBelowFirstWait);
                }
                let sound = broken.iter().all(|rule| spared.contains(rule));
                prop_assert!(sound, "{}: {policy}: {broken:?}", site.name());
                prop_assert_eq!(policy.get_timeout().is_some(), compiled.get_timeout().is_some());
                prop_assert_eq!(policy.has_deadline(), compiled.has_deadline());
            }
        }
    }
}
