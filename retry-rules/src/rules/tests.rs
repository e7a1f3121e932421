extern crate std;

use core::time::Duration;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

use super::field::{Field, Fields};
use super::messages::{Part, Style};
use super::table::{Rule, Rules};
use crate::breaker::{BreakerConfig, Window};
use crate::policy::backoff::Backoff;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::quota::QuotaConfig;

#[test]
fn every_rule_names_its_fields_and_the_cure() {
    for rule in Rule::ALL {
        assert!(!rule.fields().is_empty(), "{rule:?}");
        assert!(rule.message().len() > 40, "{rule:?}");
    }
}

#[test]
fn a_set_keeps_each_field_and_each_rule_apart() {
    for (i, rule) in Rule::ALL.iter().enumerate() {
        assert_eq!(Rules::NONE.with(*rule).iter().collect::<Vec<_>>(), [Rule::ALL[i]]);
    }
    for (i, field) in Field::ALL.iter().enumerate() {
        assert_eq!(Fields::NONE.with(*field).iter().collect::<Vec<_>>(), [Field::ALL[i]]);
    }
}

#[test]
fn a_constant_equals_its_parts() {
    for rule in Rule::ALL {
        assert_eq!(rule.message(), rule.worded(Style::Attribute).to_string(), "{rule:?}");
    }
}

#[test]
fn each_style_spells_settings_in_its_own_way() {
    let worded = |rule: Rule, style| rule.worded(style).to_string();
    let unlimited = [
        (
            Style::Attribute,
            "`attempts = unlimited` never ends on its own: add a `budget` (bounds the waits) or a \
             `max_elapsed` (no attempt begins after it); if that is intended, write `budget = \
             unlimited`",
        ),
        (
            Style::Command,
            "`attempts: unlimited` never ends on its own: add a `retry_budget` (bounds the waits) \
             or a `max_elapsed` (no attempt begins after it); if that is intended, write \
             `retry_budget: unlimited`",
        ),
        (
            Style::Override,
            "`attempts: unlimited` never ends on its own: add a `budget` (bounds the waits) or a \
             `max_elapsed` (no attempt begins after it); if that is intended, write `budget: \
             unlimited`",
        ),
        (
            Style::Workflow,
            "`max_attempts: unlimited` never ends on its own: add a `retry_budget` (bounds the \
             waits) or a `max_elapsed` (no attempt begins after it); if that is intended, write \
             `retry_budget: unlimited`",
        ),
    ];
    for (style, expected) in unlimited {
        assert_eq!(worded(Rule::UnlimitedUnbounded, style), expected);
    }
    let single = worded(Rule::AttemptsZero, Style::Task);
    assert!(
        single.starts_with("`max_retries` ") && single.contains("`max_retries: 0`"),
        "{single}"
    );
    let above = worded(Rule::InitialAboveMax, Style::Task);
    assert!(above.contains("`retry_delay` (1s unless set)"), "{above}");
    assert!(above.contains("`max_retry_delay` (300s unless set)"), "{above}");
    // A change applies to an existing policy: what it does not set is not a default.
    let above = worded(Rule::InitialAboveMax, Style::Override);
    assert!(above.starts_with("`initial_delay` is longer than `max_delay`, which"), "{above}");
    let zero = worded(Rule::AttemptsZero, Style::Override);
    assert!(zero.ends_with("or leave it out for the default, as compiled"), "{zero}");
}

#[test]
fn defaults_named_in_messages_are_the_real_ones() {
    fn seconds(time: Duration) -> String {
        format!("{}s", time.as_secs())
    }
    fn collect(parts: &[Part], all: &mut Vec<(Field, &'static str)>) {
        for part in parts {
            match part {
                Part::Default(field, default) | Part::NameOrValue(field, default) => {
                    all.push((*field, default));
                }
                _ => {}
            }
        }
    }

    let mut all = Vec::new();
    for row in Rule::ROWS {
        collect(row.parts, &mut all);
    }
    let policy = Policy::new();
    let (breaker, quota) = (BreakerConfig::new(), QuotaConfig::new());
    for (field, said) in all {
        let default = match field {
            Field::Attempts => policy.attempts.to_string(),
            Field::InitialDelay => seconds(policy.initial_delay),
            Field::MaxDelay => seconds(policy.get_max_delay()),
            Field::MinimumCalls => breaker.minimum_calls.to_string(),
            Field::WindowCalls => match breaker.window {
                Window::Calls(calls) => calls.to_string(),
                window @ Window::Time(_) => panic!("{window:?} is not a number of calls"),
            },
            Field::OpenTimeout => seconds(breaker.timeout),
            Field::MaxTimeout => seconds(breaker.get_max_timeout()),
            Field::RetryCost => quota.retry_cost.to_string(),
            Field::TimeoutCost => quota.timeout_cost.to_string(),
            other => panic!("{other:?} has no default here"),
        };
        assert_eq!(said, default, "{field:?}");
    }
}

#[test]
fn the_defaults_keep_all_rules() {
    assert!(Policy::new().validate().is_ok());
    assert!(BreakerConfig::new().validate().is_ok());
    assert!(QuotaConfig::new().validate().is_ok());
}

#[test]
fn a_budget_that_no_wait_uses_up_is_not_a_bound() {
    let budget = Policy::new().unlimited().backoff(Backoff::Fixed).budget(Duration::MAX);
    let at_once = budget.initial_delay(Duration::ZERO);
    let broken = |policy: Policy| policy.validate().err().map(|invalid| invalid.broken());
    let rule = Some(Rules::NONE.with(Rule::UnlimitedWithoutWaits));
    assert_eq!(broken(at_once), rule);
    assert_eq!(broken(budget.backoff(Backoff::Custom(&[])).max_delay(Duration::ZERO)), rule);
    assert_eq!(broken(budget), None);
    assert_eq!(broken(at_once.deadline(Duration::from_secs(1))), None);
    assert_eq!(broken(at_once.attempts(1_000)), None);
}

#[test]
fn unlimited_attempts_end_by_any_bound_or_by_none_that_is_meant() {
    let minute = Bound::Limited(Duration::from_secs(60));
    let unlimited = Policy::new().unlimited();
    for bound in [minute, Bound::Unlimited] {
        for policy in [
            unlimited.with_budget(bound),
            unlimited.with_deadline(bound),
            unlimited.with_max_elapsed(bound),
        ] {
            assert_eq!(policy.validate(), Ok(()), "{policy}");
        }
        // These bound one attempt, and one wait.
        assert!(unlimited.with_timeout(bound).validate().is_err());
        assert!(unlimited.with_max_retry_after(bound).validate().is_err());
    }
    assert!(unlimited.with_budget(Bound::None).validate().is_err());
}

#[test]
fn attempts_without_waits_need_none_where_that_is_meant() {
    let busy = Policy::new().unlimited().backoff(Backoff::Fixed).initial_delay(Duration::ZERO);
    let meant = busy.with_budget(Bound::Unlimited);
    for policy in
        [meant, meant.first_delay(Duration::from_secs(1)), meant.max_delay(Duration::ZERO)]
    {
        assert_eq!(policy.validate(), Ok(()), "{policy}");
        assert_eq!(policy.nearest_valid(), (policy, None));
        let with_cancel = Fields::NONE.with(Field::Cancel);
        assert_eq!(policy.validate_written(with_cancel), Ok(()), "{policy}");
    }
}

#[test]
fn waits_may_grow_without_end() {
    let endless = Policy::new().with_max_delay(Bound::Unlimited).attempts(u32::MAX);
    let curves = [
        Backoff::Fixed,
        Backoff::Linear { increment: Duration::from_secs(1) },
        Backoff::DEFAULT,
        Backoff::Fibonacci,
    ];
    for policy in curves.map(|backoff| endless.backoff(backoff)) {
        for jitter in [Jitter::None, Jitter::Proportional(1.0), Jitter::Full, Jitter::Equal] {
            let policy = policy.jitter(jitter);
            assert_eq!(policy.validate(), Ok(()), "{policy}");
            let (shortest, longest) = policy.wait_interval(u32::MAX, None);
            assert!(shortest <= longest);
        }
        // A longer initial delay is valid although the default maximum is shorter.
        assert_eq!(policy.initial_delay(Duration::from_secs(60)).validate(), Ok(()));
    }
    assert_eq!(endless.wait(40), Duration::from_secs(1 << 39));
    assert!(endless.to_string().contains("exponential (base 2) from 1s without a maximum"));
}

#[test]
fn attempts_without_waits_need_an_end_that_time_brings() {
    let busy = Policy::new().unlimited().backoff(Backoff::Fixed).initial_delay(Duration::ZERO);
    let minute = Duration::from_secs(60);
    let rule = Rules::NONE.with(Rule::UnlimitedWithoutWaits);
    for policy in [
        busy.budget(minute),
        busy.with_deadline(Bound::Unlimited),
        busy.with_max_elapsed(Bound::Unlimited),
        busy.budget(minute).first_delay(Duration::from_secs(1)),
    ] {
        assert_eq!(policy.validate().map_err(|invalid| invalid.broken()), Err(rule), "{policy}");
        assert_eq!(policy.nearest_valid().0.get_attempts(), Attempts::Limited(3));
    }
    assert!(busy.max_elapsed(minute).validate().is_ok());
    assert!(busy.deadline(minute).validate().is_ok());
}

#[test]
fn a_wait_that_does_not_grow_needs_no_longest_one() {
    let s = Duration::from_secs;
    let fixed = Policy::new().backoff(Backoff::Fixed).initial_delay(s(60));
    assert_eq!((fixed.validate(), fixed.wait(2)), (Ok(()), s(60)));
    // The fixed wait is also the longest, jitter included.
    let spread = fixed.jitter(Jitter::Proportional(0.5));
    assert_eq!(spread.wait_interval(1, None), (s(30), s(60)));

    let custom = const { &[Duration::from_secs(1), Duration::from_secs(90)] };
    let custom = Policy::new().attempts(4).backoff(Backoff::Custom(custom));
    assert_eq!((custom.validate(), custom.wait(2), custom.wait(3)), (Ok(()), s(90), s(90)));
    let short = const { &[Duration::from_secs(1)] };
    assert_eq!(Policy::new().backoff(Backoff::Custom(short)).wait(2), s(30));

    // A backoff that grows needs one, and so does the jitter that replaces every backoff.
    for policy in [
        Policy::new(),
        Policy::new().backoff(Backoff::Linear { increment: s(1) }),
        Policy::new().backoff(Backoff::Fibonacci),
        Policy::new().backoff(Backoff::Fixed).jitter(Jitter::Decorrelated),
    ] {
        let from = |delay| policy.initial_delay(delay).validate().map_err(|it| it.broken());
        let rule = Rules::NONE.with(Rule::GrowthWithoutRoom);
        assert_eq!((from(s(29)), from(s(30)), from(s(60))), (Ok(()), Err(rule), Err(rule)));
        assert!(policy.initial_delay(s(60)).max_delay(s(120)).validate().is_ok());
    }
}

#[test]
fn the_curve_begins_after_a_first_delay() {
    let s = Duration::from_secs;
    let waits = |policy: Policy| [1, 2, 3, 4].map(|n| policy.wait(n).as_secs());
    assert_eq!(waits(Policy::new().first_delay(Duration::ZERO)), [0, 1, 2, 4]);
    assert_eq!(waits(Policy::new().first_delay(s(9)).backoff(Backoff::Fixed)), [9, 1, 1, 1]);
    let custom = Backoff::Custom(const { &[Duration::from_secs(5)] });
    assert_eq!(waits(Policy::new().first_delay(s(9)).backoff(custom)), [9, 5, 30, 30]);
    // As many delays as there are waits after the first one.
    let custom = Policy::new().first_delay(s(9)).backoff(custom);
    assert!(custom.attempts(3).validate().is_ok());
    let unused = custom.attempts(2).validate().unwrap_err();
    assert!(unused.broken().contains(Rule::CustomDelaysUnused));

    // Proportional jitter spreads the first delay too; decorrelated jitter begins after it.
    let spread = Policy::new().first_delay(s(10)).jitter(Jitter::Equal);
    assert_eq!(spread.wait_interval(1, None), (s(5), s(10)));
    let decorrelated = Policy::new().first_delay(Duration::ZERO).jitter(Jitter::Decorrelated);
    assert_eq!(decorrelated.wait_interval(1, None), (s(0), s(0)));
    assert_eq!(decorrelated.wait_interval(2, Some(s(0))), (s(1), s(3)));
    assert_eq!(decorrelated.wait_interval(3, Some(s(2))), (s(1), s(6)));

    let short = Policy::new().max_delay(s(5));
    assert_eq!(short.first_delay(s(9)).wait(1), s(5));
    assert!(short.first_delay(s(9)).validate().is_err());
    assert_eq!(Policy::new().first_delay(s(9)).longest_total_wait(), Some(s(10)));
    assert_eq!(
        Policy::new().first_delay(s(0)).max_elapsed(s(60)).to_string(),
        "3 attempts, first wait 0s, then exponential (base 2) from 1s to 30s, max elapsed 1m"
            .replace("1m", &format!("{}", crate::policy::display_duration::DisplayDuration(s(60)))),
    );
}

#[test]
fn a_single_attempt_beside_a_shared_policys_backoff_is_accepted() {
    // Turns off the retries of a shared policy: only settings written here count as useless.
    let once = Policy::new().backoff(Backoff::Fixed).attempts(1);
    assert_eq!(once.get_attempts(), Attempts::Limited(1));
    assert!(once.validate_written(Fields::NONE.with(Field::Attempts)).is_ok());
    let written = Fields::from_slice(&[Field::Attempts, Field::Backoff]);
    let invalid = once.validate_written(written).unwrap_err();
    assert!(invalid.broken().contains(Rule::SingleAttempt));
    assert!(invalid.fields().contains(Field::Attempts));
}

#[test]
fn a_bound_of_the_wait_for_a_breaker_may_stand_beside_a_single_attempt() {
    let once = Policy::new().attempts(1).budget(Duration::from_secs(60));
    for bound in [Field::Budget, Field::MaxElapsed] {
        let written = Fields::from_slice(&[Field::Attempts, bound]);
        assert!(once.validate_written(written).is_err());
        assert!(once.validate_written(written.with(Field::WhenOpen)).is_ok());
        let written = written.with(Field::WhenOpen).with(Field::OnRetry);
        assert!(once.validate_written(written).is_err());
    }
}

#[test]
fn a_reader_of_waits_may_stand_beside_a_single_attempt_if_a_breaker_may_hold() {
    let once = Policy::new().attempts(1);
    let is_valid = |written: &[Field]| once.validate_written(Fields::from_slice(written)).is_ok();
    assert!(!is_valid(&[Field::Attempts, Field::RetryAfter]));
    assert!(!is_valid(&[Field::Attempts, Field::RetryAfter, Field::WhenOpen]));
    assert!(is_valid(&[Field::Attempts, Field::RetryAfter, Field::Hold]));
    assert!(!is_valid(&[Field::Attempts, Field::WaitBy, Field::Hold]));
    assert!(!is_valid(&[Field::Attempts, Field::RetryAfter, Field::Hold, Field::OnRetry]));
    // Its bound ends waits for the breaker only.
    assert!(!is_valid(&[Field::Attempts, Field::MaxRetryAfter, Field::Hold]));
    assert!(!is_valid(&[Field::Attempts, Field::MaxRetryAfter, Field::WhenOpen]));
    assert!(is_valid(&[Field::Attempts, Field::MaxRetryAfter, Field::Hold, Field::WhenOpen]));
}

#[test]
fn a_window_is_of_one_kind() {
    let breaker = BreakerConfig::new().failure_rate(0.5).window_time(Duration::from_secs(1));
    let written = |fields: &[Field]| breaker.validate_written(Fields::from_slice(fields));
    assert!(written(&[Field::FailureRate, Field::WindowTime]).is_ok());
    let both = written(&[Field::WindowCalls, Field::WindowTime]).unwrap_err();
    assert!(both.broken().contains(Rule::WindowTwice));
}

#[test]
fn an_invalid_policy_is_corrected() {
    let s = Duration::from_secs;
    let new = Policy::new;
    let base = |base| new().backoff(Backoff::Exponential { base });
    let jitter = |factor| new().jitter(Jitter::Proportional(factor));
    let up = |factor| new().jitter(Jitter::Up(factor));
    let added = |least, most| new().jitter(Jitter::Added { least: s(least), most: s(most) });
    let bounded = || new().unlimited().budget(s(60));
    let fixed = new().backoff(Backoff::Fixed);
    let custom = Backoff::Custom(const { &[Duration::from_secs(31)] });
    let cases = [
        (new().attempts(0), new().attempts(1), Rule::AttemptsZero),
        (base(1.0), fixed, Rule::BaseNotGrowing),
        (base(-2.0), fixed, Rule::BaseNotGrowing),
        (base(f64::NAN), fixed, Rule::BaseNotFinite),
        (base(f64::NEG_INFINITY), fixed, Rule::BaseNotFinite),
        (base(f64::INFINITY), base(f64::MAX), Rule::BaseNotFinite),
        (new().backoff(Backoff::Linear { increment: Duration::ZERO }), fixed, Rule::IncrementZero),
        (
            new().initial_delay(Duration::ZERO),
            fixed.initial_delay(Duration::ZERO),
            Rule::GrowthFromZero,
        ),
        (
            new().initial_delay(s(60)).max_delay(s(40)),
            new().initial_delay(s(40)).max_delay(s(40)),
            Rule::InitialAboveMax,
        ),
        (
            new().initial_delay(s(60)),
            new().initial_delay(s(30)).max_delay(s(30)),
            Rule::GrowthWithoutRoom,
        ),
        (new().first_delay(s(60)), new().first_delay(s(30)), Rule::FirstDelayAboveMax),
        (
            new().backoff(custom).with_max_delay(Bound::Unlimited),
            new().backoff(custom),
            Rule::MaxDelayUnlimited,
        ),
        (
            new().jitter(Jitter::Decorrelated).with_max_delay(Bound::Unlimited),
            new().jitter(Jitter::Decorrelated),
            Rule::MaxDelayUnlimited,
        ),
        (jitter(f64::NAN), new(), Rule::JitterFactorOutOfRange),
        (jitter(-0.1), new(), Rule::JitterFactorOutOfRange),
        (jitter(30.0), jitter(1.0), Rule::JitterFactorOutOfRange),
        (up(f64::NAN), new(), Rule::JitterUpOutOfRange),
        (up(0.0), new(), Rule::JitterUpOutOfRange),
        (up(-0.1), new(), Rule::JitterUpOutOfRange),
        (up(1.5), up(1.0), Rule::JitterUpOutOfRange),
        (added(5, 1), added(1, 5), Rule::JitterRangeReversed),
        (added(99, 1), added(1, 99), Rule::JitterRangeReversed),
        (added(31, 99), added(30, 99), Rule::JitterAboveMax),
        (new().max_retry_after(Duration::ZERO), new(), Rule::MaxRetryAfterZero),
        (new().timeout(Duration::ZERO), new(), Rule::TimeoutZero),
        (new().deadline(s(9)).timeout(s(10)), new().deadline(s(9)), Rule::TimeoutAboveDeadline),
        (new().unlimited(), new(), Rule::UnlimitedUnbounded),
        (
            bounded().backoff(Backoff::Fixed).initial_delay(Duration::ZERO),
            fixed.initial_delay(Duration::ZERO).budget(s(60)),
            Rule::UnlimitedWithoutWaits,
        ),
        // These are used unchanged: each wait is capped, or there are no waits.
        (
            new().attempts(2).backoff(custom).max_delay(s(30)),
            new().attempts(2).backoff(custom).max_delay(s(30)),
            Rule::CustomDelayAboveMax,
        ),
        (
            new().budget(Duration::from_millis(1)),
            new().budget(Duration::from_millis(1)),
            Rule::BudgetBelowFirstWait,
        ),
        (new().deadline(s(1)), new().deadline(s(1)), Rule::DeadlineBelowFirstWait),
        (new().max_elapsed(s(1) / 2), new().max_elapsed(s(1) / 2), Rule::MaxElapsedBelowFirstWait),
        (
            new().first_delay(s(2)).max_elapsed(s(1)),
            new().first_delay(s(2)).max_elapsed(s(1)),
            Rule::FirstDelayAboveBound,
        ),
    ];
    for (given, obeyed, rule) in cases {
        let (nearest, invalid) = given.nearest_valid();
        assert_eq!(nearest, obeyed, "{rule:?}");
        assert_eq!(invalid.map(|it| it.broken()), Some(Rules::NONE.with(rule)), "{rule:?}");
    }
}

#[test]
fn unlimited_attempts_from_zero_have_an_end_as_well() {
    let endless = Policy::new().unlimited().budget(Duration::from_secs(60));
    let (nearest, invalid) = endless.initial_delay(Duration::ZERO).nearest_valid();
    assert_eq!(nearest.get_attempts(), Attempts::Limited(3));
    let broken = invalid.unwrap().broken();
    assert!(broken.contains(Rule::GrowthFromZero), "{broken:?}");
}

#[test]
fn ineffective_settings_are_accepted_at_runtime() {
    let all = Fields::from_slice(Field::ALL);
    let delays = const { &[Duration::from_secs(1), Duration::from_secs(2)] };
    for policy in [
        Policy::new().attempts(1),
        Policy::new().attempts(2).backoff(Backoff::Custom(delays)),
        Policy::new().jitter(Jitter::Decorrelated),
    ] {
        assert!(policy.validate_written(all).is_err(), "{policy}");
        assert_eq!(policy.nearest_valid_written(all), (policy, None), "{policy}");
    }
}

#[test]
fn debug_output_of_an_error_has_its_message() {
    let invalid = Policy::new().attempts(0).validate().unwrap_err();
    assert_eq!(format!("{invalid:?}"), format!("Invalid({invalid})"));
}
