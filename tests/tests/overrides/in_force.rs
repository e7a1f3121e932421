//! The effects of applied changes: on events, on the report, on calls in progress.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use retry_runtime::{Event, Overrides, Reason, on_event, report};

use crate::support::{
    alone, attempts_of_fetch, custom, fetch, in_force, look, look_up, look_up_too, of, pay, site,
    yaml,
};

#[test]
fn applied_overrides_replace_earlier_ones() {
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
fn each_function_with_a_changed_policy_is_reported() {
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
        // The compiled value, so no change.
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
fn the_report_marks_overridden_policies() {
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
fn time_bounds_are_fixed_when_a_call_starts() {
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
        // The last one is in force, not a mixture of both.
        odd.apply();
        assert_eq!(in_force("shop.look"), "3 attempts, fixed 0s");
    });
}
