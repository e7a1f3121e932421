//! Membership: the members of a fleet, and the ones that count.

use std::sync::{Arc, Mutex};

use retry_fleet::{Fleet, FleetEvent, Hub, HubError, MemoryHub};
use retry_runtime::{BreakerConfig, CircuitBreaker};
use tokio::time::{Instant, sleep};

use crate::support::{MILLI, SEC, Wire};

#[tokio::test(start_paused = true)]
async fn members_join_at_moments_of_their_own_and_leave_at_once() {
    let hub = MemoryHub::new();
    let mut fleets = Vec::new();
    let mut moments = Vec::new();
    for _ in 0..20 {
        let begin = Instant::now();
        fleets.push(Fleet::join(hub.clone(), "billing").await.unwrap());
        moments.push(begin.elapsed().as_millis());
    }
    assert!(moments.iter().all(|moment| *moment <= 401), "{moments:?}");
    moments.sort_unstable();
    moments.dedup();
    assert!(moments.len() > 10, "{moments:?}");

    sleep(4 * SEC).await;
    assert_eq!(fleets[0].members().await.unwrap().len(), 20);
    assert!(fleets[0].members().await.unwrap().iter().any(|one| one.id == *fleets[0].id()));
    fleets[19].leave().await;
    assert_eq!(fleets[0].members().await.unwrap().len(), 19);
    drop(fleets.pop());
    fleets.truncate(10);
    sleep(SEC).await;
    assert_eq!(fleets[0].members().await.unwrap().len(), 10, "whoever is dropped leaves, too");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_keeps_a_member_and_silence_loses_it() {
    let hub = MemoryHub::new();
    let one = Fleet::join(hub.clone(), "billing").await.unwrap();
    let wire = Wire::new(&hub);
    let other = Fleet::join(wire.clone(), "billing").await.unwrap();
    sleep(60 * SEC).await;
    let members = one.members().await.unwrap();
    assert_eq!(members.len(), 2);
    // Plus the latency.
    assert!(members.iter().all(|member| member.seen <= 3 * SEC + 10 * MILLI), "{members:?}");
    wire.cut();
    sleep(14 * SEC).await;
    assert_eq!(one.members().await.unwrap().len(), 1);
    assert!(other.members().await.is_err());
    wire.restore();
    sleep(4 * SEC).await;
    assert_eq!(one.members().await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_question_for_all_that_is_shared() {
    let hub = MemoryHub::new();
    let wire = Wire::new(&hub);
    let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
    for number in 0..50 {
        let config = BreakerConfig::new();
        fleet.share(Arc::new(CircuitBreaker::named(format!("shard-{number}"), config)));
    }
    sleep(SEC).await;
    let before = wire.requests();
    sleep(40 * SEC).await;
    let requests = wire.requests() - before;
    assert!((100..=135).contains(&requests), "{requests} in 40 s");
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_refuses_is_an_error_and_one_that_is_away_is_not() {
    struct Refusing;

    impl Hub for Refusing {
        async fn poll(
            &self,
            _: &str,
            _: &retry_fleet::hub::Beat,
        ) -> retry_fleet::hub::HubResult<retry_fleet::hub::View> {
            Err(HubError::refused("no right to read `fleet_member`"))
        }

        async fn change(
            &self,
            _: &str,
            _: &str,
            _: &retry_fleet::MemberId,
            _: retry_fleet::Change,
        ) -> retry_fleet::hub::HubResult<retry_fleet::hub::Changed> {
            unreachable!()
        }

        async fn leave(
            &self,
            _: &str,
            _: &retry_fleet::MemberId,
        ) -> retry_fleet::hub::HubResult<()> {
            unreachable!()
        }

        async fn members(
            &self,
            _: &str,
            _: std::time::Duration,
        ) -> retry_fleet::hub::HubResult<Vec<retry_fleet::hub::Member>> {
            unreachable!()
        }
    }

    let error = Fleet::join(Refusing, "billing").await.unwrap_err();
    assert_eq!(error.to_string(), "the hub refused the request");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "no right to read `fleet_member`");

    let wire = Wire::new(&MemoryHub::new());
    wire.cut();
    let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
    wire.restore();
    sleep(5 * SEC).await;
    assert_eq!(fleet.members().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_breakers_of_one_name_the_first_is_shared() {
    let fleet = Fleet::join(MemoryHub::new(), "billing").await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    fleet.on_event(move |event: &FleetEvent<'_>| log.lock().unwrap().push(event.to_string()));
    let one = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
    fleet.share(Arc::clone(&one));
    fleet.share(one).opens_at(0.3);
    assert!(told.lock().unwrap().is_empty(), "the same again");
    fleet.share(Arc::new(CircuitBreaker::new("db", BreakerConfig::new())));
    assert_eq!(
        *told.lock().unwrap(),
        ["fleet `billing`: another `db` is already shared, so this one works alone"]
    );
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "`opens_at` is a share of the members: write one above 0 and at most 1")]
async fn an_unreachable_share_is_refused() {
    let fleet = Fleet::join(MemoryHub::new(), "billing").await.unwrap();
    fleet.share(Arc::new(CircuitBreaker::new("db", BreakerConfig::new()))).opens_at(50.0);
}

#[test]
fn a_departed_member_leaves_no_rows() {
    static DB: CircuitBreaker = CircuitBreaker::new("left", BreakerConfig::new());
    let membership = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap().block_on(async {
            let fleet = Fleet::join(MemoryHub::new(), "billing").await.unwrap();
            fleet.share(&DB);
            sleep(4 * SEC).await;
            fleet.leave().await;
        });
    };
    membership();
    let counted = allocation_counter::measure(|| (0..3).for_each(|_| membership()));
    // A list that a listener was removed from keeps its place.
    assert!(counted.bytes_current <= 0, "{counted:?}");
}
