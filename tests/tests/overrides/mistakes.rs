//! The messages about mistakes, and that overrides with a mistake change nothing.

use retry_runtime::{Overrides, report};

use crate::support::{alone, attempts_of_fetch, names, of, vars, wrong, wrong_yaml};

#[test]
fn an_unknown_name_or_key_is_reported_with_its_place() {
    for (text, complaint) in [
        (
            "billing.pay:\n  attempts: 2\nbilling.fetc:\n  attempts: 2\n",
            "error: line 3 column 1: unknown function `billing.fetc`: did you mean `billing.fetch`?".to_owned(),
        ),
        (
            "fetch:\n  attempts: 2\n",
            "error: line 1 column 1: unknown function `fetch`: did you mean `billing.fetch`?".to_owned(),
        ),
        (
            "billing.fetch:\n  jitter: true\n  atempts: 2\n",
            "error: line 3 column 3: unknown key `atempts`: did you mean `attempts`?".to_owned(),
        ),
        (
            "billing.fetch:\n  retries: 2\n",
            "error: line 2 column 3: unknown key `retries`: `attempts` counts all calls, including \
             the first, so it is one more than the number of retries"
                .to_owned(),
        ),
        (
            "billing.fetch:\n  multiplier: 2\n",
            "error: line 2 column 3: unknown key `multiplier`: did you mean `backoff: { \
                 exponential: { base: 2.0 } }`?".to_owned(),
        ),
        (
            "billing.fetch:\n  retry_on: [network]\n",
            "error: line 2 column 3: `retry_on` cannot be changed while the program runs, \
                 because it is compiled into the function: remove it here".to_owned(),
        ),
        (
            "billing.fetch:\n  uncounted: [rate_limit]\n",
            "error: line 2 column 3: `uncounted` cannot be changed while the program runs, \
                 because it is compiled into the function: remove it here".to_owned(),
        ),
        (
            "billing.fetch:\n  log: warn\n",
            "error: line 2 column 3: `log` cannot be changed while the program runs, because it is \
                 compiled into the function: remove it here".to_owned(),
        ),
        (
            "billing.fetch:\n  failure_threshold: 5\n",
            "error: line 2 column 3: `failure_threshold` cannot be changed while the program runs, \
                 because it is compiled into the function: remove it here".to_owned(),
        ),
        (
            "billing.fetch:\n  attempts: 2\n  on_failure: stop\n",
            "error: line 3 column 3: `on_failure` cannot be changed while the program runs, \
                 because it is compiled into the function: remove it here".to_owned(),
        ),
    ] {
        assert_eq!(wrong_yaml(text), complaint, "{text}");
    }
}

#[test]
fn an_invalid_value_is_reported_with_its_place() {
    let of_all = format!(
        "`billing.fetch`: this delay is longer than `max_delay`, which caps every wait: lower it or \
         raise `max_delay`; and {} more, of other functions",
        names() - 2
    );
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
            "error: line 4 column 3: `billing.fetch`: `initial_delay` (1s) is longer than `max_delay` \
             (500ms), which caps every wait: lower the first or raise the second",
        ),
        (
            "billing.fetch:\n  attempts: 0\n",
            "error: line 2 column 3: `billing.fetch`: `attempts` counts all calls, including the \
             first, so it must be at least 1: write `attempts: 1` for a single call, or leave it \
             out for the default, as compiled",
        ),
        (
            "billing.fetch:\n  attempts: unlimited\n",
            "error: line 2 column 3: `billing.fetch`: `attempts: unlimited` never ends on its own: \
             add a `budget` (bounds the waits) or a `max_elapsed` (no attempt begins after it); if \
             that is intended, write `budget: unlimited`",
        ),
        (
            "billing.pay:\n  jitter_factor: 0.5\n",
            "error: line 2 column 3: `billing.pay`: `jitter_factor` only applies to `jitter: \
             true`: add that, or write the factor as `jitter`",
        ),
        (
            "billing.fetch:\n  attempts: 2\n  timeout: 5s\n",
            "error: line 3 column 12: `billing.fetch`: its #[retry] has no `timeout`, so the \
             function contains no code that obeys one: write a `timeout` in the #[retry], or \
             remove the key here",
        ),
        (
            "shop.look:\n  deadline: 5s\n",
            "error: line 2 column 13: `shop.look`: its #[retry] has no `deadline`, so the function \
             contains no code that obeys one: write a `deadline` in the #[retry], or remove the \
             key here",
        ),
        (
            "shop.look:\n  timeout: 5s\n",
            "error: line 2 column 12: `shop.look`: a `timeout` cannot cut off a function that is \
             not async: remove the key here; a `deadline` in the #[retry] ends the call between \
             attempts",
        ),
        (
            "shop.generic:\n  timeout: 5s\n",
            "error: line 2 column 12: `shop.generic`: only its type parameters tell whether \
             it has a `timeout`, so no override can set one: remove the key here",
        ),
        (
            "shop.limited:\n  deadline: 5s\n",
            "error: line 2 column 13: `shop.limited`: its #[retry] has no `deadline`, so the \
             function contains no code that obeys one: write a `deadline` in the #[retry], or \
             remove the key here",
        ),
        (
            "client.look:\n  timeout: 5s\n",
            "error: line 2 column 12: `client.look`: a `timeout` cannot cut off a function that is \
             not async: remove the key here; a `deadline` in the #[retry] ends the call between \
             attempts",
        ),
        (
            "\"*\":\n  max_delay: 9s\n  backoff: { custom: { delays: [10s] } }\nbilling.pay: { max_delay: 10s }\n",
            &of_all,
        ),
        ("[1]", "error: line 1 column 1: expected mapping start"),
    ] {
        assert_eq!(wrong_yaml(text), complaint, "{text}");
    }
    assert_eq!(
        serde_json::from_str::<Overrides>(r#"{ "twin": {}, "twin": {} }"#).unwrap_err().to_string(),
        "`twin` appears twice: keep one at line 1 column 20"
    );
    assert_eq!(
        serde_json::from_str::<Overrides>("[]").unwrap_err().to_string(),
        "invalid type: sequence, expected a map of functions, each with a map of the settings to \
         change, such as { attempts: 2 } at line 1 column 0"
    );
}

#[test]
fn all_mistakes_of_a_list_are_reported() {
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
    assert!(told[0].starts_with("unknown function `billing.fetc`: did you mean `billing.fetch`?"));
    assert!(
        told[1].starts_with("`billing.fetch`: unknown key `atempts`: did you mean `attempts`?")
    );
    assert_eq!(
        told[2..],
        [
            "`attempts` of `billing.fetch`: \"two\": expected a number of attempts, or `unlimited`",
            "`backoff` of `billing.fetch`: a linear backoff needs `increment`: write \
             `linear(increment = 2s)`",
            "`backoff` of `billing.fetch`: a custom backoff needs `delays`: write `custom(500ms, \
             1s)`",
            "`backoff` of `billing.fetch`: \"two\": expected a number such as `0.5`",
            "`jitter_factor` of `billing.fetch`: \"half\": expected a number such as `0.5`",
            "`timeout` of `billing.fetch`: \"5\": a duration needs a unit: write `\"5s\"` for seconds or `\"5ms\"` \
             for milliseconds",
            "`budget` of `billing.pay` and `retry_budget` of `billing.pay` set the same thing: \
             keep one",
        ]
    );
    let zero = "`attempts` counts all calls, including the first, so it must be at least 1: write \
                `attempts: 1` for a single call, or leave it out for the default, as compiled";
    assert_eq!(
        wrong([("billing.fetch", "attempts", "0"), ("billing.pay", "attempts", "0")]),
        format!("`billing.fetch`: {zero}\n`billing.pay`: {zero}")
    );
}

#[test]
fn an_unknown_variable_is_reported_with_the_nearest_one() {
    let form = ": a function in capitals and its key follow `RETRY_`, as in `RETRY_ALL_ATTEMPTS`";
    for (variable, complaint) in [
        ("RETRY_BILLING_FETC_ATTEMPTS", ": did you mean `RETRY_BILLING_FETCH_ATTEMPTS`?"),
        ("RETRY_ATTEMPTS", form),
        ("RETRY_?", form),
        (
            "RETRY_BILLING_FETCH",
            ": a function in capitals and its key follow `RETRY_`, as in `RETRY_BILLING_FETCH_ATTEMPTS`",
        ),
    ] {
        let complaint = format!("unknown variable `{variable}`{complaint}");
        assert_eq!(vars([(variable, "2")]).unwrap_err(), complaint);
    }
    for variable in ["RETRY_BILLING_FETCH_attempts", "retry_billing_fetch_attempts"] {
        assert_eq!(
            vars([(variable, "2")]).unwrap_err(),
            format!("`{variable}` is not in capitals: write `RETRY_BILLING_FETCH_ATTEMPTS`")
        );
    }
    // A variable of another program.
    assert!(vars([("retry_count", "2")]).is_ok());
}

#[test]
fn a_mistake_in_the_environment_is_reported_with_its_variable() {
    for (variable, value, complaint) in [
        (
            "RETRY_BILLING_FETCH_MAX_INTERVAL",
            "2s",
            "`RETRY_BILLING_FETCH_MAX_INTERVAL`, for `billing.fetch`: unknown key `max_interval`: \
             did you mean `max_delay`?",
        ),
        (
            "RETRY_BILLING_FETCH_MAX_RETRIES",
            "2",
            "`RETRY_BILLING_FETCH_MAX_RETRIES`, for `billing.fetch`: unknown key `max_retries`: \
             `attempts` counts all calls, including the first, so it is one more than the number of \
             retries",
        ),
        (
            "RETRY_BILLING_FETCH_RETRY_ON",
            "network",
            "`RETRY_BILLING_FETCH_RETRY_ON`, for `billing.fetch`: `retry_on` cannot be changed \
             while the program runs, because it is compiled into the function: remove it here",
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
            "`billing.fetch`: `initial_delay` (1s) is longer than \
             `max_delay` (500ms), which caps every wait: lower the first or raise the second",
        ),
        (
            "RETRY_SHOP_LOOK_UP_ATTEMPTS",
            "2",
            "`RETRY_SHOP_LOOK_UP_ATTEMPTS` is ambiguous: it could mean `attempts` of \
             `shop.look-up` or `attempts` of `shop.look.up`; use the full name, in a file or with \
             `Overrides::from_pairs`, or give one of the functions another `name`",
        ),
    ] {
        assert_eq!(vars([(variable, value)]).unwrap_err(), complaint);
    }
    let both = vars([("RETRY_TWIN_ATTEMPTS", "x"), ("RETRY_TWIN_JITTER", "y")]).unwrap_err();
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn refused_overrides_change_nothing() {
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

#[test]
fn a_message_shows_no_more_than_the_beginning_of_a_value() {
    #[track_caller]
    fn assert_short(message: &str) {
        let shown = message.matches('ä').count();
        assert!((1..=600).contains(&shown) && message.contains('…'), "{shown}: {message:.400}");
    }

    let long = format!("y{}", "ä".repeat(10_000));
    let written = |text: &str| text.replace('@', &long);
    for json in [
        r#"{ "@": { "attempts": 2 } }"#,
        r#"{ "*": { "@": 2 } }"#,
        r#"{ "*": { "attempts": "@" } }"#,
        r#"{ "*": { "initial_delay": "@" } }"#,
    ] {
        let error = serde_json::from_str::<Overrides>(&written(json)).unwrap_err();
        assert_short(&error.to_string());
    }
    for (name, key, value) in [("*", "attempts", "@"), ("*", "@", "1"), ("@", "attempts", "1")] {
        let pairs = [(written(name), written(key), written(value))];
        assert_short(&Overrides::from_pairs(pairs).unwrap_err().to_string());
    }
    for variable in ["RETRY_ALL_ATTEMPTS", "RETRY_ALL_@", "RETRY_@"] {
        let vars = [(written(variable), long.clone())];
        assert_short(&Overrides::from_vars("RETRY_", vars).unwrap_err().to_string());
    }
}
