//! A family of breakers by key: who shares a breaker, which one is evicted, and what is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker, Event, State, on_event};
use tokio::time::advance;

use super::{DEFAULT, FRAGILE, TIMEOUT, fail, succeed};

fn family(config: BreakerConfig, most: usize) -> Breakers<String> {
    Breakers::try_new("hosts", config, most).unwrap()
}

fn keys(family: &Breakers<String>) -> Vec<String> {
    let key = |name: retry_runtime::Name| name.key().unwrap().to_owned();
    family.snapshots().into_iter().map(|snapshot| key(snapshot.name)).collect()
}

#[test]
fn each_key_has_a_breaker_that_all_share() {
    static HOSTS: Breakers<String> = Breakers::new("hosts", FRAGILE, 10);
    let one = HOSTS.of("one");
    assert!(Arc::ptr_eq(&one, &HOSTS.of(&"one".to_owned())));
    fail(&HOSTS.of("one"), 1);
    assert!(one.is_open());
    assert!(!HOSTS.of("other").is_open());
    assert_eq!(one.name(), "hosts[one]");
    let rejected = one.try_acquire().unwrap_err();
    assert_eq!((rejected.breaker.family(), rejected.breaker.key()), ("hosts", Some("one")));
    assert!(rejected.to_string().starts_with("circuit breaker `hosts[one]` is open"), "{rejected}");
    assert_eq!(keys(&HOSTS), ["one", "other"]);
}

#[test]
fn keys_may_be_of_any_type_that_can_be_shown() {
    let shards = Breakers::<u16>::new("shards", DEFAULT, 2);
    assert_eq!(shards.of(&7).name(), "shards[7]");
    assert_eq!(shards.snapshots()[0].name.key(), Some("7"));
}

#[test]
fn the_one_that_was_asked_for_the_longest_time_ago_leaves_first() {
    let family = family(DEFAULT, 3);
    for key in ["a", "b", "c", "a", "b", "b", "a"] {
        fail(&family.of(key), 1);
    }
    family.of("d");
    assert_eq!(keys(&family), ["a", "b", "d"]);
    family.of("e");
    assert_eq!(keys(&family), ["a", "d", "e"]);
    assert_eq!(family.of("a").snapshot().consecutive_failures, 3, "it stayed");
    assert_eq!(family.of("c").snapshot().consecutive_failures, 0, "it had left");
    assert_eq!(keys(&family), ["a", "c", "e"]);
}

#[test]
fn who_leaves_is_who_would_leave_a_list_of_all_calls() {
    let family = family(DEFAULT, 8);
    let mut list: Vec<String> = Vec::new();
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = format!("{}", (seed >> 33) % 12);
        family.of(&key);
        list.retain(|other| *other != key);
        list.push(key);
        if list.len() > 8 {
            list.remove(0);
        }
        if seed.is_multiple_of(64) {
            let mut expected = list.clone();
            expected.sort();
            assert_eq!(keys(&family), expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_breaker_leaves_that_is_held_or_not_closed() {
    let family = family(FRAGILE.half_open_requests(1).success_threshold(1), 4);
    let held = family.of("held");
    fail(&family.of("open"), 1);
    fail(&family.of("probed"), 1);
    family.of("forced").force_closed();
    advance(TIMEOUT).await;
    let probe = family.of("probed").try_acquire_owned().unwrap();
    for i in 0..10 {
        family.of(&format!("{i}"));
    }
    assert_eq!(keys(&family), ["forced", "held", "open", "probed"]);

    probe.success();
    family.of("new");
    assert_eq!(keys(&family), ["forced", "held", "new", "open"], "closed, and held by nobody");
    drop(held);
    family.of("newer");
    assert_eq!(keys(&family), ["forced", "new", "newer", "open"]);
    succeed(&family.of("open"), 1);
    family.of("forced").reset();
    for key in ["a", "b", "c", "d"] {
        family.of(key);
    }
    assert_eq!(keys(&family), ["a", "b", "c", "d"]);
}

#[test]
fn where_none_can_leave_the_caller_gets_one_of_its_own_and_it_is_told_once() {
    let told = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&told);
    let listening = on_event(move |event| {
        if let Event::BreakersFull { breaker, .. } = event
            && breaker.family() == "full"
        {
            assert_eq!(breaker.key(), Some("b"), "the first");
            counter.fetch_add(1, Ordering::Relaxed);
            let line = event.to_string();
            assert!(line.starts_with("circuit breakers `full`: none can be evicted"), "{line}");
        }
    });
    let family = Breakers::<String>::try_new("full", FRAGILE, 1).unwrap();
    family.of("a").force_open();
    let own = family.of("b");
    own.force_open();
    assert!(!family.of("b").is_open(), "nobody else has that one");
    family.of("c");
    assert_eq!(told.load(Ordering::Relaxed), 1);
    assert_eq!(keys(&family), ["a"]);

    family.of("a").reset();
    assert!(!Arc::ptr_eq(&family.of("b"), &own));
    assert_eq!(keys(&family), ["b"]);
    listening.stop();
}

#[test]
fn threads_share_what_they_ask_for_by_the_same_key() {
    let family = family(DEFAULT.failure_threshold(u32::MAX), 4);
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let family = &family;
            scope.spawn(move || {
                // Held, so that it stays in the family; the others come and go.
                let held = family.of("shared");
                for i in 0..500_u32 {
                    fail(&family.of("shared"), 1);
                    family.of(&format!("{thread} {}", i % 7));
                }
                drop(held);
            });
        }
    });
    assert_eq!(family.of("shared").snapshot().outcomes.failures, 2_000);
    assert_eq!(family.snapshots().len(), 4);
}

#[test]
fn settings_are_checked_and_a_family_holds_one_at_least() {
    assert!(Breakers::<String>::try_new("hosts", DEFAULT.half_open_requests(0), 5).is_err());
    let family = family(DEFAULT, 0);
    family.of("a");
    family.of("b");
    assert_eq!(keys(&family), ["b"]);
}

#[test]
fn a_held_breaker_lives_as_long_as_its_holder() {
    let held: Arc<CircuitBreaker> = family(FRAGILE, 1).of("a");
    fail(&held, 1);
    assert_eq!((held.state(), held.remaining() > Duration::ZERO), (State::Open, true));
}
