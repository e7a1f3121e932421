//! The contract of hubs, as functions to test a hub with.
//!
//! Each function tests one behaviour: it takes a hub and a fleet that is new in it, and panics if the
//! hub behaves differently. [`hub_contract!`](crate::hub_contract) makes a test of each:
//!
//! ```no_run
//! # use retry_fleet::MemoryHub as MyHub;
//! // In `tests/my_hub.rs`. What is beside the hub lives as long as the test does.
//! retry_fleet::hub_contract!(async || Some((MyHub::new(), ())));
//! # fn main() {}
//! ```
//!
//! Leases are short here, and the tests wait for them on tokio's clock: some hundred milliseconds
//! of real time, or none if it is paused.

// An assertion fails where a hub breaks the contract.
#![allow(clippy::missing_panics_doc, reason = "a panic is how each of these says no")]
#![allow(missing_docs, reason = "the name of each is what it is about")]

use core::time::Duration;

use tokio::time::sleep;

use super::{Beat, Changed, Hub, Report, View};
use crate::rules::fleet_breaker::{Change, FleetBreaker};
use crate::rules::member_id::MemberId;
use crate::rules::quorum::Tally;

/// Defines a test for each behaviour of the contract of hubs.
///
/// Takes an async closure that creates a hub and a guard that has to live as long as the hub:
/// `async || Some((hub, guard))`; `None` skips the test. Write `paused,` before it for a hub that
/// uses tokio's clock. The crate that uses it needs tokio with `macros`, `rt` and `time`, and
/// `test-util` for `paused`.
#[macro_export]
macro_rules! hub_contract {
    (paused, $make:expr) => {
        $crate::hub_contract!(@all (flavor = "current_thread", start_paused = true) $make);
    };
    ($make:expr) => {
        $crate::hub_contract!(@all (flavor = "current_thread") $make);
    };
    (@all $runtime:tt $make:expr) => {
        $crate::hub_contract!(@tests $runtime $make;
            a_fleet_that_nobody_knows_is_empty
            a_heartbeat_makes_a_member
            who_is_silent_does_not_count
            who_leaves_is_gone
            fleets_are_apart
            the_clock_goes_on
            a_tally_is_of_the_others
            a_call_is_forgotten_and_an_opening_with_it
            a_report_without_a_call_keeps_the_last_call
            the_dead_are_in_no_tally
            a_record_is_changed_by_the_rules
            a_hold_is_kept_at_its_longest_beside_the_state
            one_of_many_opens
            one_of_many_probes
            everybody_sees_all_records
            names_are_found_to_the_letter
        );
    };
    (@tests $runtime:tt $make:expr; $($behaviour:ident)+) => {
        $(
            #[::tokio::test $runtime]
            async fn $behaviour() {
                let Some((hub, _lives_as_long)) = ($make)().await else { return };
                let fleet = $crate::hub::contract::fleet();
                $crate::hub::contract::$behaviour(&hub, &fleet).await;
            }
        )+
    };
}

/// Short, but long enough for a round trip on a busy machine.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(600);

/// Returns the name of a fleet that no other test uses.
#[doc(hidden)]
pub fn fleet() -> String {
    format!("contract-{}", MemberId::new())
}

fn member(name: &str) -> MemberId {
    MemberId::from(name.to_owned())
}

fn beat(name: &str) -> Beat {
    Beat {
        member: member(name),
        heartbeat: true,
        alive: LONG,
        reports: Vec::new(),
        tallies: vec!["db".to_owned()],
        lately: LONG,
    }
}

fn report(called: bool, open: bool) -> Vec<Report> {
    vec![Report { breaker: "db".to_owned(), called, open }]
}

async fn poll(hub: &impl Hub, fleet: &str, beat: &Beat) -> View {
    hub.poll(fleet, beat).await.expect("polled")
}

async fn tally(hub: &impl Hub, fleet: &str, beat: &Beat) -> (u32, u32) {
    let view = poll(hub, fleet, beat).await;
    let (breaker, Tally { callers, openers }) = &view.tallies[0];
    assert_eq!(breaker, "db");
    (*callers, *openers)
}

async fn change(hub: &impl Hub, fleet: &str, name: &str, change: Change) -> Changed {
    hub.change(fleet, "db", &member(name), change).await.expect("changed")
}

const OPEN: Change = Change::Open { open_time: Duration::ZERO, patience: LONG };
const PROBE: Change = Change::Probe { lasts: LONG, patience: LONG };

async fn join(hub: &impl Hub, fleet: &str, names: &[&str]) {
    for name in names {
        poll(hub, fleet, &beat(name)).await;
    }
}

pub async fn a_fleet_that_nobody_knows_is_empty(hub: &impl Hub, fleet: &str) {
    assert!(hub.members(fleet, LONG).await.expect("listed").is_empty());
    let silent = Beat { heartbeat: false, ..beat("a") };
    let view = poll(hub, fleet, &silent).await;
    assert_eq!((view.members, view.breakers.len()), (None, 0));
    assert_eq!(view.tallies, [("db".to_owned(), Tally::default())]);
    hub.leave(fleet, &member("a")).await.expect("the member leaves");
}

pub async fn a_heartbeat_makes_a_member(hub: &impl Hub, fleet: &str) {
    assert_eq!(poll(hub, fleet, &beat("b")).await.members, Some(1));
    assert_eq!(poll(hub, fleet, &beat("a")).await.members, Some(2));
    assert_eq!(poll(hub, fleet, &beat("b")).await.members, Some(2), "again");
    let members = hub.members(fleet, LONG).await.expect("listed");
    let names: Vec<_> = members.iter().map(|member| member.id.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(members.iter().all(|member| member.seen <= member.joined));
}

pub async fn who_is_silent_does_not_count(hub: &impl Hub, fleet: &str) {
    join(hub, fleet, &["a", "b"]).await;
    sleep(SHORT).await;
    let beat = Beat { alive: SHORT, ..beat("a") };
    assert_eq!(poll(hub, fleet, &beat).await.members, Some(1));
    let members = hub.members(fleet, SHORT).await.expect("listed");
    assert_eq!(members.len(), 1);
    assert!(members[0].joined >= SHORT, "it did not join again");
}

pub async fn who_leaves_is_gone(hub: &impl Hub, fleet: &str) {
    join(hub, fleet, &["a", "b"]).await;
    poll(hub, fleet, &Beat { reports: report(true, true), ..beat("b") }).await;
    hub.leave(fleet, &member("b")).await.expect("left");
    let beat = beat("a");
    assert_eq!(poll(hub, fleet, &beat).await.members, Some(1));
    assert_eq!(tally(hub, fleet, &beat).await, (0, 0));
}

pub async fn fleets_are_apart(hub: &impl Hub, one: &str) {
    let other = &fleet();
    poll(hub, one, &Beat { reports: report(true, true), ..beat("a") }).await;
    change(hub, one, "a", OPEN).await;
    let view = poll(hub, other, &beat("b")).await;
    assert_eq!((view.members, view.breakers.len()), (Some(1), 0));
    assert_eq!(tally(hub, other, &beat("b")).await, (0, 0));
}

pub async fn the_clock_goes_on(hub: &impl Hub, fleet: &str) {
    let first = poll(hub, fleet, &beat("a")).await.now;
    sleep(SHORT).await;
    let second = poll(hub, fleet, &beat("a")).await.now;
    let passed = second.saturating_sub(first);
    assert!(passed >= SHORT * 9 / 10 && passed < SHORT * 20, "{passed:?}");
    let changed = change(hub, fleet, "a", Change::Release).await.now;
    assert!(changed >= second && changed < second + LONG, "one clock for all methods");
}

pub async fn a_tally_is_of_the_others(hub: &impl Hub, fleet: &str) {
    for (name, called, open) in [("a", true, true), ("b", true, false), ("c", true, true)] {
        poll(hub, fleet, &Beat { reports: report(called, open), ..beat(name) }).await;
    }
    assert_eq!(tally(hub, fleet, &beat("a")).await, (2, 1));
    assert_eq!(tally(hub, fleet, &beat("b")).await, (2, 2));
    poll(hub, fleet, &Beat { reports: report(true, false), ..beat("c") }).await;
    assert_eq!(tally(hub, fleet, &beat("a")).await, (2, 0), "closed again");
}

pub async fn a_call_is_forgotten_and_an_opening_with_it(hub: &impl Hub, fleet: &str) {
    join(hub, fleet, &["a", "b"]).await;
    poll(hub, fleet, &Beat { reports: report(true, true), ..beat("b") }).await;
    sleep(SHORT).await;
    let lately = Beat { lately: SHORT, ..beat("a") };
    assert_eq!(tally(hub, fleet, &lately).await, (0, 0));
    assert_eq!(tally(hub, fleet, &beat("a")).await, (1, 1), "by a longer memory");
}

pub async fn a_report_without_a_call_keeps_the_last_call(hub: &impl Hub, fleet: &str) {
    poll(hub, fleet, &Beat { reports: report(false, true), ..beat("b") }).await;
    assert_eq!(tally(hub, fleet, &beat("a")).await, (0, 0), "it never called");
    poll(hub, fleet, &Beat { reports: report(true, true), ..beat("b") }).await;
    poll(hub, fleet, &Beat { reports: report(false, false), ..beat("b") }).await;
    assert_eq!(tally(hub, fleet, &beat("a")).await, (1, 0));
}

pub async fn the_dead_are_in_no_tally(hub: &impl Hub, fleet: &str) {
    poll(hub, fleet, &Beat { reports: report(true, true), ..beat("b") }).await;
    sleep(SHORT).await;
    assert_eq!(tally(hub, fleet, &Beat { alive: SHORT, ..beat("a") }).await, (0, 0));
}

pub async fn a_record_is_changed_by_the_rules(hub: &impl Hub, fleet: &str) {
    let refused = change(hub, fleet, "a", PROBE).await;
    assert_eq!((refused.done, refused.record), (false, FleetBreaker::default()));

    let opened = change(hub, fleet, "a", OPEN).await;
    assert!(opened.done && opened.record.epoch == 1 && opened.record.is_open(opened.now));
    let probing = change(hub, fleet, "a", PROBE).await;
    let mut expected = opened.record.clone();
    assert!(expected.apply(&member("a"), PROBE, probing.now));
    assert_eq!((probing.done, &probing.record), (true, &expected), "as the rules say");

    let again = Change::Failed { open_time: SHORT, patience: LONG };
    let failed = change(hub, fleet, "a", again).await;
    assert!(failed.done && !failed.record.may_probe(&member("a"), failed.now));
    assert_eq!(failed.record.open.as_ref().map(|open| open.reopenings), Some(1));
    assert!(!change(hub, fleet, "a", PROBE).await.done, "not yet");
    sleep(SHORT).await;
    assert!(change(hub, fleet, "a", PROBE).await.done);
    assert!(change(hub, fleet, "a", Change::Release).await.done);
    assert!(change(hub, fleet, "a", PROBE).await.done);
    let closed = change(hub, fleet, "a", Change::Recovered).await;
    assert_eq!((closed.record.epoch, &closed.record.open), (3, &None));
}

pub async fn a_hold_is_kept_at_its_longest_beside_the_state(hub: &impl Hub, fleet: &str) {
    let opened = change(hub, fleet, "a", OPEN).await;
    let held = change(hub, fleet, "b", Change::Hold { wait: LONG }).await;
    assert_eq!(held.record.held_until, Some(held.now.saturating_add(LONG)));
    assert!(held.done && held.record.open == opened.record.open && held.record.epoch == 1);
    assert!(!change(hub, fleet, "a", Change::Hold { wait: SHORT }).await.done);
    let mut seen = poll(hub, fleet, &beat("c")).await.breakers;
    seen.retain(|(name, _)| name == "db");
    assert_eq!(seen, [("db".to_owned(), held.record)]);
    let ended = change(hub, fleet, "a", Change::EndHold).await;
    assert_eq!((ended.done, ended.record.held_until), (true, Some(ended.now)));
    assert!(!change(hub, fleet, "a", Change::EndHold).await.done);
}

pub async fn one_of_many_opens(hub: &impl Hub, fleet: &str) {
    let opened = all(8, |name| async move { change(hub, fleet, &name, OPEN).await }).await;
    assert_eq!(opened.iter().filter(|changed| changed.done).count(), 1);
    assert!(opened.iter().all(|changed| changed.record.epoch == 1));
}

pub async fn one_of_many_probes(hub: &impl Hub, fleet: &str) {
    change(hub, fleet, "a", OPEN).await;
    // An unused lease ends; the next one goes to exactly one of many, and lasts.
    let unused = Change::Probe { lasts: SHORT, patience: LONG };
    assert!(change(hub, fleet, "a", unused).await.done);
    sleep(SHORT).await;
    let probe = Change::Probe { lasts: LONG, patience: LONG };
    let granted = all(8, |name| async move { change(hub, fleet, &name, probe).await.done });
    assert_eq!(granted.await.into_iter().filter(|granted| *granted).count(), 1);
    let verdict = change(hub, fleet, "a stranger", Change::Recovered).await;
    assert!(!verdict.done && verdict.record.is_open(verdict.now));
}

pub async fn everybody_sees_all_records(hub: &impl Hub, fleet: &str) {
    let changed = change(hub, fleet, "a", OPEN).await;
    hub.change(fleet, "queue", &member("a"), Change::Release).await.expect("changed");
    let mut breakers = poll(hub, fleet, &beat("b")).await.breakers;
    breakers.retain(|(_, record)| *record != FleetBreaker::default());
    assert_eq!(breakers, [("db".to_owned(), changed.record)]);
}

pub async fn names_are_found_to_the_letter(hub: &impl Hub, fleet: &str) {
    for name in ["DB", "db ", "d'b", "d\"b", "d%b", "d\\b", "日本", ""] {
        let opened = hub.change(fleet, name, &member(name), OPEN).await.expect("changed");
        assert_eq!((opened.done, opened.record.epoch), (true, 1), "{name:?}");
        assert!(!hub.change(fleet, name, &member("x"), OPEN).await.expect("changed").done);
    }
}

/// Does the same for this many members at once.
async fn all<T, F: Future<Output = T>>(count: usize, f: impl Fn(String) -> F) -> Vec<T> {
    let mut running: Vec<_> = (0..count).map(|n| Box::pin(f(format!("member-{n}")))).collect();
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    core::future::poll_fn(|cx| {
        for (future, result) in running.iter_mut().zip(&mut done) {
            if result.is_none() {
                if let core::task::Poll::Ready(value) = future.as_mut().poll(cx) {
                    *result = Some(value);
                }
            }
        }
        if done.iter().all(Option::is_some) {
            core::task::Poll::Ready(())
        } else {
            core::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
