//! Properties that hold for all changes, checked with random ones.

use proptest::prelude::*;
use retry_rules::{Rule, Rules};
use retry_runtime::{Field, Overrides, Policy, sites};

use crate::support::alone;

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
        "hedged.fixed",
        "hedged.percentile",
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
                &[
                    "true",
                    "false",
                    "full",
                    "equal",
                    "decorrelated",
                    "0.5",
                    "up(0.5)",
                    "up(0)",
                    "0s..1ms",
                    "2s..1s",
                    "1h..2h"
                ][..]
            )
        ),
        (
            Just("jitter_factor"),
            proptest::sample::select(&["0.0", "0.5", "1", "1.5", "NaN", "-1"][..])
        ),
        (Just("budget"), proptest::sample::select(WAITS)),
        (Just("deadline"), proptest::sample::select(WAITS)),
        (Just("max_retry_after"), proptest::sample::select(WAITS)),
        (Just("timeout"), proptest::sample::select(WAITS)),
        (Just("hedge"), proptest::sample::select(&["0s", "1ms", "3s", "unlimited"][..])),
        (Just("max_hedges"), proptest::sample::select(&["0", "1", "7"][..])),
    ];
    let change = (proptest::sample::select(NAMES), key_and_value);
    proptest::collection::vec(change.prop_map(|(name, (key, value))| (name, key, value)), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_escaped(name in any::<String>(), value in any::<String>(), key in 0..10_usize) {
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
    fn accepted_overrides_keep_the_rules_of_each_function(first in changes(), second in changes()) {
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
                let broken = |policy: &Policy| policy.validate().map_or_else(|invalid| invalid.broken(), |()| Rules::NONE);
                // `"*"` does not check how many delays a function can use. A rule that the compiled
                // policy breaks does not hold for its function, which has a `retry_after` or a
                // `cancel`.
                let spared = broken(compiled).with(Rule::CustomDelaysUnused);
                let broken = broken(&policy);
                let sound = broken.iter().all(|rule| spared.contains(rule));
                prop_assert!(sound, "{}: {policy}: {broken:?}", site.name());
                // A timeout that is an option can be added.
                if !site.runtime().contains(Field::Timeout) {
                    prop_assert_eq!(policy.get_timeout().is_some(), compiled.get_timeout().is_some());
                }
                prop_assert_eq!(policy.has_deadline(), compiled.has_deadline());
            }
        }
    }
}
