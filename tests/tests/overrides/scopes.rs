//! Scopes: changes for a part of the program.

use std::sync::Mutex;
use std::time::Duration;

use retry_runtime::{Reason, with_overrides, with_overrides_sync};

use crate::support::{alone, attempts_of_fetch, custom, fetch, look, of, order, pay, site, yaml};

#[test]
fn a_scope_applies_to_calls_inside_it() {
    alone(async {
        let two = of("billing.fetch", "attempts", "2");
        assert_eq!(with_overrides(&two, attempts_of_fetch()).await, 2);
        assert_eq!(attempts_of_fetch().await, 5);
        assert!(!site("billing.fetch").is_overridden());
        // Meanwhile, other tasks run without the changes.
        let (inside, outside) =
            tokio::join!(with_overrides(&two, attempts_of_fetch()), attempts_of_fetch());
        assert_eq!((inside, outside), (2, 5));
    });
}

#[test]
fn a_scope_applies_over_the_process_and_the_outer_scope() {
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
fn a_scope_in_conflict_with_others_applies_alone() {
    alone(async {
        // Each of them ends on its own; together they would retry forever, without a wait.
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
        // Works on a thread without a runtime too.
        let thread =
            std::thread::spawn(move || with_overrides_sync(&two, look).unwrap_err().attempts());
        assert_eq!(thread.join().unwrap(), 2);
    });
}

#[test]
fn a_spawned_task_does_not_inherit_the_scope() {
    alone(async {
        let two = of("billing.fetch", "attempts", "2");
        let spawned =
            with_overrides(&two, async { tokio::spawn(attempts_of_fetch()).await.unwrap() });
        assert_eq!(spawned.await, 5);
        // But a scope can be carried along.
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
