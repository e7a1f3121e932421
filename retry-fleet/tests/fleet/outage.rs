//! Outages of the hub: everything continues, each outage is reported once, and the fleet recovers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_fleet::{Fleet, FleetEvent, MemoryHub};
use retry_runtime::{BreakerConfig, State};
use tokio::time::sleep;

use crate::support::{Backend, MILLI, SEC, Wire, count, nodes, until};

const CONFIG: BreakerConfig = BreakerConfig::new().timeout(Duration::from_secs(5));

#[tokio::test(start_paused = true)]
async fn an_outage_and_its_end_are_reported_once() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(1, &hub, CONFIG, &backend, 100 * MILLI).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    nodes[0].fleet.on_event(move |event: &FleetEvent<'_>| {
        log.lock().unwrap().push(event.to_string());
    });
    sleep(5 * SEC).await;
    nodes[0].wire.cut();
    sleep(60 * SEC).await;
    let requests = nodes[0].wire.requests();
    sleep(60 * SEC).await;
    let requests = nodes[0].wire.requests() - requests;
    assert!((20..=30).contains(&requests), "{requests} in a minute");
    nodes[0].wire.restore();
    sleep(5 * SEC).await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        told[0],
        "fleet `billing`: the hub cannot be reached: breakers work alone until it is back"
    );
    assert!(told[1].starts_with("fleet `billing`: the hub is back after 1"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_member_outlives_panics_of_its_hub_and_of_listeners() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(2, &hub, CONFIG, &backend, 100 * MILLI).await;
    nodes[0].fleet.on_event(|_| panic!("a mistake in a listener"));
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    nodes[0].fleet.on_event(move |event: &FleetEvent<'_>| {
        log.lock().unwrap().push(matches!(event, FleetEvent::HubLost { .. }));
    });
    sleep(5 * SEC).await;
    nodes[0].wire.panic_once();
    sleep(60 * SEC).await;
    assert_eq!(*told.lock().unwrap(), [true, false], "lost, and back");
    assert_eq!(nodes[1].fleet.members().await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_joins_during_an_outage_is_informed() {
    let wire = Wire::new(&MemoryHub::new());
    wire.cut();
    let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    fleet.on_event(move |event: &FleetEvent<'_>| {
        log.lock().unwrap().push(matches!(event, FleetEvent::HubLost { .. }));
    });
    sleep(60 * SEC).await;
    assert_eq!(*told.lock().unwrap(), [true]);
    wire.restore();
    sleep(5 * SEC).await;
    assert_eq!(*told.lock().unwrap(), [true, false], "lost, and back");
}

#[tokio::test(start_paused = true)]
async fn breakers_go_on_as_if_they_were_not_shared() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(5, &hub, CONFIG, &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    for node in &nodes {
        node.wire.cut();
    }
    backend.set_down(true);
    until(2 * SEC, || count(&nodes, State::Open) == 5).await;
    let calls = backend.calls();
    sleep(20 * SEC).await;
    let probes = backend.calls() - calls;
    assert!(probes >= 15, "{probes}: each has its own");
    backend.set_down(false);
    until(10 * SEC, || count(&nodes, State::Closed) == 5).await;
    for node in &nodes {
        node.wire.restore();
    }
    sleep(5 * SEC).await;
    assert_eq!(count(&nodes, State::Closed), 5);

    // Together again.
    for node in &nodes[..3] {
        for _ in 0..5 {
            if let Ok(permit) = node.breaker.try_acquire() {
                permit.failure();
            }
        }
    }
    until(SEC, || count(&nodes, State::Open) == 5).await;
}
