//! A family of breakers by key: who shares a breaker, which one is evicted, and what is reported.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker, Event, State, Warning, on_event};
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
fn the_least_recently_used_breaker_is_evicted_first() {
    let family = family(DEFAULT, 3);
    for key in ["a", "b", "c"] {
        fail(&family.of(key), 1);
    }
    family.of("d");
    assert_eq!(keys(&family), ["b", "c", "d"], "all were asked for: the first one");
    fail(&family.of("b"), 1);
    family.of("e");
    assert_eq!(keys(&family), ["b", "d", "e"]);
    assert_eq!(family.of("b").snapshot().consecutive_failures, 2, "it stayed");
    assert_eq!(family.of("c").snapshot().consecutive_failures, 0, "it had left");
}

/// The textbook's clock with second chances, which looks at as many as it needs.
#[derive(Default)]
struct Clock {
    ring: Vec<(String, bool)>,
    hand: usize,
}

impl Clock {
    fn ask(&mut self, key: &str, most: usize) {
        if let Some((_, used)) = self.ring.iter_mut().find(|(present, _)| present == key) {
            *used = true;
        } else if self.ring.len() < most {
            self.ring.push((key.to_owned(), true));
        } else {
            while std::mem::take(&mut self.ring[self.hand].1) {
                self.hand = (self.hand + 1) % most;
            }
            self.ring[self.hand] = (key.to_owned(), true);
            self.hand = (self.hand + 1) % most;
        }
    }

    fn keys(&self) -> Vec<String> {
        let mut keys: Vec<_> = self.ring.iter().map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys
    }
}

#[test]
fn eviction_follows_the_clock_algorithm() {
    let family = family(DEFAULT, 8);
    let mut clock = Clock::default();
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = format!("{}", (seed >> 33) % 12);
        family.of(&key);
        clock.ask(&key, 8);
        if seed.is_multiple_of(64) {
            assert_eq!(keys(&family), clock.keys());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_breaker_leaves_that_is_held_or_forced_or_open_with_time_left() {
    let family = family(FRAGILE.half_open_requests(1).success_threshold(1), 4);
    let held = family.of("held");
    fail(&family.of("probed"), 1);
    family.of("forced").force_closed();
    advance(TIMEOUT).await;
    fail(&family.of("open"), 1);
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
    advance(TIMEOUT).await;
    succeed(&family.of("open"), 1);
    family.of("forced").reset();
    for key in ["a", "b", "c", "d"] {
        family.of(key);
    }
    assert_eq!(keys(&family), ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn hosts_that_died_and_were_never_called_again_make_room() {
    for most in [1, 100, 5_000] {
        let family = family(FRAGILE, most);
        for i in 0..most {
            fail(&family.of(&format!("dead {i}")), 1);
        }
        let unheld = family.of("early");
        assert_eq!(keys(&family).len(), most);
        assert!(!Arc::ptr_eq(&family.of("early"), &unheld), "all are open: it is not remembered");

        advance(TIMEOUT).await;
        for i in 0..most {
            let key = format!("new {i}");
            fail(&family.of(&key), 1);
            assert!(family.of(&key).is_open(), "{key} of {most} is remembered");
        }
        assert!(keys(&family).iter().all(|key| key.starts_with("new")));
        assert_eq!(family.snapshots().len(), most);
    }
}

#[tokio::test(start_paused = true)]
async fn a_half_open_breaker_is_evicted_once_idle() {
    let family = family(FRAGILE, 1);
    fail(&family.of("a"), 1);
    advance(TIMEOUT).await;
    let probe = || drop(family.of("a").try_acquire().unwrap());
    for _ in 0..5 {
        probe();
        assert_eq!(family.of("a").state(), State::HalfOpen);
        advance(TIMEOUT.saturating_sub(Duration::from_millis(1))).await;
        family.of("b");
        assert_eq!(keys(&family), ["a"], "it was called");
    }
    advance(Duration::from_millis(1)).await;
    family.of("b");
    assert_eq!(keys(&family), ["b"]);
}

#[test]
fn a_breaker_that_can_leave_is_found_among_many_that_cannot() {
    let family = family(DEFAULT, 2_000);
    for i in 0..1_999 {
        family.of(&format!("{i}")).force_open();
    }
    family.of("idle");
    let tries = (0..2_000).find(|i| {
        family.of(&format!("new {i}"));
        !keys(&family).contains(&"idle".to_owned())
    });
    assert!(tries.is_some(), "each new key looks at the next ones");
    assert_eq!(family.snapshots().len(), 2_000);
}

#[test]
fn threads_that_bring_new_keys_never_exceed_the_capacity() {
    for most in [3, 100, 1_000] {
        let family = family(DEFAULT, most);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|thread| {
                    let family = &family;
                    scope.spawn(move || {
                        for i in 0..2_000 {
                            family.of(&format!("{thread} {i}"));
                        }
                    })
                })
                .collect();
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                assert!(family.snapshots().len() <= most);
            }
        });
        assert_eq!(family.snapshots().len(), most);
    }
}

/// A key whose comparison, once asked to, waits for a comparison on another thread.
#[derive(Clone)]
struct Meeting(Arc<(Mutex<Option<u32>>, Condvar)>);

impl Meeting {
    fn meets(&self) -> bool {
        let (count, changed) = &*self.0;
        let mut count = count.lock().unwrap();
        let Some(here) = &mut *count else { return true };
        *here += 1;
        changed.notify_all();
        let alone = |count: &mut Option<u32>| count.is_some_and(|here| here < 2);
        let wait = changed.wait_timeout_while(count, Duration::from_secs(30), alone);
        !wait.unwrap().1.timed_out()
    }
}

impl PartialEq for Meeting {
    fn eq(&self, _: &Self) -> bool {
        assert!(self.meets(), "calls exclude each other");
        true
    }
}

impl Eq for Meeting {}

impl Hash for Meeting {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("meeting")
    }
}

#[test]
fn calls_with_known_keys_do_not_exclude_each_other() {
    let family = Breakers::try_new("meetings", DEFAULT, 1).unwrap();
    let key = Meeting(Arc::default());
    family.of(&key);
    *key.0.0.lock().unwrap() = Some(0);
    std::thread::scope(|scope| {
        let calls = [(); 2].map(|()| scope.spawn(|| drop(family.of(&key))));
        for call in calls {
            call.join().unwrap();
        }
    });
}

/// A key whose hash says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Alike(u32);

impl Hash for Alike {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}", self.0)
    }
}

#[test]
fn keys_with_one_hash_have_a_breaker_each_and_make_room_for_each_other() {
    let family = Breakers::try_new("alike", DEFAULT, 5).unwrap();
    for key in 0..40 {
        let breaker = family.of(&Alike(key));
        assert_eq!(breaker.name(), format!("alike[{key:02}]"));
        assert!(Arc::ptr_eq(&breaker, &family.of(&Alike(key))));
        assert_eq!(family.snapshots().len(), 5.min(key as usize + 1));
    }
    let held: Vec<_> = (100..105).map(|key| family.of(&Alike(key))).collect();
    for (key, breaker) in (100..105).zip(&held) {
        assert!(Arc::ptr_eq(breaker, &family.of(&Alike(key))));
    }
}

/// A key that asks the family itself when it is shown.
#[derive(Clone, Hash, PartialEq, Eq)]
struct Asking(bool);

static ASKED: Breakers<Asking> = Breakers::new("asked", DEFAULT, 2);

impl fmt::Display for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 {
            ASKED.of(&Self(false));
        }
        write!(f, "{}", self.0)
    }
}

#[test]
fn the_display_of_a_key_may_use_its_family() {
    assert_eq!(ASKED.of(&Asking(true)).name(), "asked[true]");
    assert_eq!(ASKED.snapshots().len(), 2);
}

#[test]
fn if_no_breaker_can_be_evicted_the_caller_gets_its_own_and_an_event_is_emitted_once() {
    let told = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&told);
    let listening = on_event(move |event| {
        if let Event::Warning(Warning::BreakersFull { breaker, .. }) = event
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
fn threads_share_the_breaker_of_a_key() {
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
fn a_family_may_be_practically_unlimited() {
    let family = family(DEFAULT, usize::MAX);
    for key in ["a", "b", "c"] {
        family.of(key);
    }
    assert_eq!(keys(&family), ["a", "b", "c"]);
}

#[test]
fn a_held_breaker_lives_as_long_as_its_holder() {
    let held: Arc<CircuitBreaker> = family(FRAGILE, 1).of("a");
    fail(&held, 1);
    assert_eq!((held.state(), held.remaining() > Duration::ZERO), (State::Open, true));
}
