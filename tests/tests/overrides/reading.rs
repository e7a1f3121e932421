//! Reading changes: from pairs, from files, from the environment.

use std::time::Duration;

use retry_runtime::{Attempts, Jitter, Overrides, Reason, sites};
use serde::Deserialize as _;

use crate::support::{
    alone, asks, attempts_of_fetch, generic, in_force, of, patient, pay, site, twins, vars, wrong,
    yaml,
};

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
fn overrides_of_a_name_apply_over_the_star() {
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
fn a_number_is_read_like_its_text() {
    alone(async {
        Overrides::from_pairs([("billing.pay", "attempts", 2)]).unwrap().apply();
        assert_eq!(site("billing.pay").policy().unwrap().get_attempts(), Attempts::Limited(2));
    });
}

#[test]
fn jitter_upwards_is_read_from_the_environment_and_from_a_file() {
    alone(async {
        let pairs = [("billing.pay", "jitter", "up(0.25)"), ("shop.look", "jitter", "0ms..250ms")];
        Overrides::from_pairs(pairs).unwrap().apply();
        let jitter = |name| site(name).policy().unwrap().get_jitter();
        assert_eq!(jitter("billing.pay"), Jitter::Up(0.25));
        let most = Duration::from_millis(250);
        assert_eq!(jitter("shop.look"), Jitter::Added { least: Duration::ZERO, most });

        yaml("billing.pay: { jitter: 1s..2s }\nshop.look: { jitter: up(1) }").apply();
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!(jitter("billing.pay"), Jitter::Added { least, most });
        assert_eq!(jitter("shop.look"), Jitter::Up(1.0));
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

        // And it can be changed by overrides on top.
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
                .starts_with("`billing.fetch`: its #[retry] has no `max_elapsed`")
        );
    });
}

#[test]
fn max_retry_after_can_be_overridden_for_every_function() {
    alone(async {
        let ends = async || {
            let error = asks().await.unwrap_err();
            (error.attempts(), error.reason())
        };
        assert_eq!(ends().await, (3, Reason::Attempts));
        for changes in [
            of("shop.asks", "max_retry_after", "9ms"),
            of("*", "max_retry_after", "9ms"),
            yaml("shop.asks:\n  max_retry_after: 9ms\n"),
            vars([("RETRY_SHOP_ASKS_MAX_RETRY_AFTER", "9ms")]).unwrap(),
        ] {
            changes.apply();
            assert_eq!(ends().await, (1, Reason::RetryAfter), "{changes:?}");
        }
        of("shop.asks", "max_retry_after", "10ms").apply();
        assert_eq!(ends().await, (3, Reason::Attempts));
        of("shop.asks", "max_retry_after", "unlimited").apply();
        assert_eq!(ends().await, (3, Reason::Attempts));
        assert_eq!(
            wrong([("shop.asks", "max_retry_after", "0s")]),
            "`shop.asks`: `max_retry_after` of 0s would end each call whose server names a wait: \
             write a longer time, such as `max_retry_after: \"10m\"`"
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
fn ineffective_settings_under_the_star_are_accepted() {
    // The first wait has no effect on custom delays, which is a mistake only if set by name.
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
fn merged_overrides_take_precedence_with_the_star_too() {
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
fn valid_overrides_may_conflict_when_merged() {
    let (slow, short) =
        (of("billing.fetch", "initial_delay", "10s"), of("billing.fetch", "max_delay", "5s"));
    assert_eq!(
        slow.merge(&short).unwrap_err().to_string(),
        "`billing.fetch`: `initial_delay` (10s) is longer than `max_delay` (5s), which caps every \
         wait: lower the first or raise the second"
    );
}

#[test]
fn a_rule_that_the_compiled_policy_breaks_does_not_refuse_an_override() {
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
        // The values that new overrides set are checked separately.
        assert_eq!(
            wrong([("billing.pay", "backoff", "custom(1s, 2s, 3s)")]),
            "`billing.pay`: there are more custom delays than waits, so the extra ones are never \
             used: n attempts have n - 1 waits between them; raise `attempts` (3) or remove \
             them (3 delays)"
        );
    });
}
