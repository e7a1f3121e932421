//! A breaker shared by many members: when it opens everywhere, who probes, and when it closes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_fleet::{FleetEvent, MemoryHub};
use retry_runtime::{BreakerConfig, State};
use tokio::time::{Instant, sleep};

use crate::support::{Backend, MILLI, Node, SEC, Wire, count, nodes, until};

const CONFIG: BreakerConfig = BreakerConfig::new().timeout(Duration::from_secs(5));

fn listen(nodes: &[Node]) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    for node in nodes {
        let log = Arc::clone(&log);
        node.fleet.on_event(move |event: &FleetEvent<'_>| {
            log.lock().unwrap().push(event.to_string());
        });
    }
    log
}

#[tokio::test(start_paused = true)]
async fn it_opens_everywhere_within_a_second_of_the_quorum_and_closes_everywhere() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(10, &hub, CONFIG, &backend, 100 * MILLI).await;
    let log = listen(&nodes);
    sleep(5 * SEC).await;
    assert_eq!(count(&nodes, State::Closed), 10);

    // Five of them fail: half of the callers.
    for node in &nodes[..5] {
        node.stop_calling();
        for _ in 0..5 {
            node.breaker.try_acquire().unwrap().failure();
        }
    }
    until(SEC, || count(&nodes, State::Open) == 10).await;
    assert_eq!(log.lock().unwrap().len(), 1, "one has opened it, for all");
    let first = log.lock().unwrap()[0].clone();
    assert!(
        first.ends_with("opens everywhere for 5.0s: 5 of its 10 callers have opened it"),
        "{first}"
    );

    // One of the calling members at a time probes, and its verdict closes the breaker for all.
    backend.take_most();
    let took = until(10 * SEC, || count(&nodes, State::Closed) > 0).await;
    assert!(took > 4 * SEC && took < 8 * SEC, "{took:?}");
    assert_eq!(backend.take_most(), 1, "one probe at a time");
    until(SEC, || count(&nodes, State::Closed) == 10).await;
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 3, "{log:?}");
    assert!(log[1].contains("probes for") && log[2].ends_with("closes everywhere"), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn one_bad_node_does_not_affect_others() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let mut nodes = nodes(4, &hub, CONFIG, &backend, 100 * MILLI).await;
    let down = Backend::default();
    down.set_down(true);
    nodes.push(Node::new(&hub, CONFIG, &down, 100 * MILLI).await);
    let log = listen(&nodes);
    for _ in 0..600 {
        sleep(100 * MILLI).await;
        assert_eq!(count(&nodes[..4], State::Closed), 4);
    }
    assert_ne!(nodes[4].state(), State::Closed);
    assert!(log.lock().unwrap().is_empty());

    // Of two members, one is half, but still alone.
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let good = Node::new(&hub, CONFIG, &backend, 100 * MILLI).await;
    let bad = Node::new(&hub, CONFIG, &down, 100 * MILLI).await;
    sleep(30 * SEC).await;
    assert_eq!((good.state(), bad.state() == State::Closed), (State::Closed, false));
}

#[tokio::test(start_paused = true)]
async fn members_that_do_not_call_do_not_count_and_are_informed() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(10, &hub, CONFIG, &backend, 100 * MILLI).await;
    for node in &nodes[3..] {
        node.stop_calling();
    }
    sleep(15 * SEC).await;
    // Two of the three callers.
    for node in &nodes[..2] {
        node.stop_calling();
        for _ in 0..5 {
            node.breaker.try_acquire().unwrap().failure();
        }
    }
    until(SEC, || count(&nodes, State::Open) == 10).await;
}

#[tokio::test(start_paused = true)]
async fn a_share_of_its_own_is_obeyed() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(10, &hub, CONFIG, &backend, 100 * MILLI).await;
    for node in &nodes {
        node.fleet.share(Arc::clone(&node.breaker)).opens_at(0.8);
    }
    sleep(5 * SEC).await;
    for (number, node) in nodes[..8].iter().enumerate() {
        assert_eq!(count(&nodes, State::Open), number);
        node.stop_calling();
        for _ in 0..5 {
            node.breaker.try_acquire().unwrap().failure();
        }
        sleep(500 * MILLI).await;
    }
    until(SEC, || count(&nodes, State::Open) == 10).await;
}

#[tokio::test(start_paused = true)]
async fn while_it_stays_down_one_at_a_time_probes() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(20, &hub, CONFIG.timeout_growth(2.0), &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    backend.set_down(true);
    until(5 * SEC, || count(&nodes, State::Open) == 20).await;
    sleep(100 * MILLI).await;
    let (before, begin) = (backend.calls(), Instant::now());
    backend.take_most();
    // Open for 5 s, then 10 s, 20 s and 40 s.
    sleep(75 * SEC).await;
    let probes = backend.calls() - before;
    assert!((3..=4).contains(&probes), "{probes} in {:?}", begin.elapsed());
    assert_eq!(backend.take_most(), 1);
    assert_eq!(count(&nodes, State::Closed), 0);

    backend.set_down(false);
    until(90 * SEC, || count(&nodes, State::Closed) > 0).await;
    let took = until(5 * SEC, || count(&nodes, State::Closed) == 20).await;
    assert!(took < SEC, "{took:?} after the verdict");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_not_used_goes_to_another() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(3, &hub, CONFIG, &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    for node in &nodes {
        for _ in 0..5 {
            if let Ok(permit) = node.breaker.try_acquire() {
                permit.failure();
            }
        }
    }
    until(SEC, || count(&nodes, State::Open) == 3).await;
    nodes[1].stop_calling();
    nodes[2].stop_calling();
    // This member calls until it may probe, and then stops.
    until(8 * SEC, || nodes[0].state() == State::HalfOpen).await;
    nodes[0].stop_calling();
    sleep(5 * SEC).await;
    assert_eq!(count(&nodes, State::Closed), 0);
    // Another member has rejected a call, and is next.
    let permit = until_admitted(&nodes[2]).await;
    permit.success();
    for _ in 0..2 {
        until_admitted(&nodes[2]).await.success();
    }
    until(SEC, || count(&nodes, State::Closed) == 3).await;
}

async fn until_admitted(node: &Node) -> retry_runtime::Permit<'_> {
    let begin = Instant::now();
    loop {
        if let Ok(permit) = node.breaker.try_acquire() {
            return permit;
        }
        assert!(begin.elapsed() < 3 * SEC);
        sleep(100 * MILLI).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_calls_rarely_decides_alone_after_the_lease() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(2, &hub, CONFIG, &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    for node in &nodes {
        node.stop_calling();
        for _ in 0..5 {
            if let Ok(permit) = node.breaker.try_acquire() {
                permit.failure();
            }
        }
    }
    until(SEC, || count(&nodes, State::Open) == 2).await;
    // 5 s open, then 10 s without a call.
    sleep(16 * SEC).await;
    nodes[0].breaker.try_acquire().expect("its own probe").success();
}

#[tokio::test(start_paused = true)]
async fn a_breaker_forced_open_stays_open_and_opens_no_others() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(3, &hub, CONFIG, &backend, 100 * MILLI).await;
    sleep(2 * SEC).await;
    nodes[0].breaker.force_open();
    nodes[1].breaker.force_open();
    sleep(10 * SEC).await;
    assert_eq!(nodes[2].state(), State::Closed, "a person's word is no failure");
    nodes[0].breaker.reset();
    nodes[1].breaker.force_closed();
    backend.set_down(true);
    until(5 * SEC, || nodes[0].state() == State::Open && nodes[2].state() == State::Open).await;
    sleep(5 * SEC).await;
    assert_eq!(nodes[1].state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_new_member_follows_the_current_state() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let mut nodes = nodes(3, &hub, CONFIG.timeout(60 * SEC), &backend, 100 * MILLI).await;
    sleep(2 * SEC).await;
    backend.set_down(true);
    until(5 * SEC, || count(&nodes, State::Open) == 3).await;
    nodes.push(Node::new(&hub, CONFIG, &backend, 100 * MILLI).await);
    assert_eq!(nodes[3].state(), State::Open, "from its first call on");
    assert!(nodes[3].breaker.remaining() > 50 * SEC);
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_member_decides_alone_and_never_stays_open() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(5, &hub, CONFIG, &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    backend.set_down(true);
    until(5 * SEC, || count(&nodes, State::Open) == 5).await;
    sleep(SEC).await;
    nodes[4].wire.cut();
    backend.set_down(false);
    until(8 * SEC, || count(&nodes[..4], State::Closed) == 4).await;
    assert_eq!(nodes[4].state(), State::Open);
    let took = until(20 * SEC, || nodes[4].state() == State::Closed).await;
    assert!(took < 12 * SEC, "{took:?}");

    // Cut off, it opens by itself, and no other member follows.
    for _ in 0..5 {
        nodes[4].breaker.try_acquire().unwrap().failure();
    }
    sleep(2 * SEC).await;
    assert_eq!(count(&nodes[..4], State::Closed), 4);
    nodes[4].wire.restore();
    until(20 * SEC, || count(&nodes, State::Closed) == 5).await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_missed_by_the_hub_is_sent_once_it_is_back() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(3, &hub, CONFIG.success_threshold(1), &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    backend.set_down(true);
    until(5 * SEC, || count(&nodes, State::Open) == 3).await;
    backend.set_down(false);
    until(10 * SEC, || count(&nodes, State::HalfOpen) == 1).await;
    let prober = nodes.iter().find(|node| node.state() == State::HalfOpen).unwrap();
    prober.wire.cut();
    until(SEC, || prober.state() == State::Closed).await;
    sleep(500 * MILLI).await;
    prober.wire.restore();
    until(3 * SEC, || count(&nodes, State::Closed) == 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_hung_probe_delays_others_at_most_for_the_open_time() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(3, &hub, CONFIG.success_threshold(1), &backend, 100 * MILLI).await;
    sleep(5 * SEC).await;
    backend.set_down(true);
    until(5 * SEC, || count(&nodes, State::Open) == 3).await;
    for node in &nodes {
        node.stop_calling();
    }
    let begin = Instant::now();
    let hangs = loop {
        assert!(begin.elapsed() < 20 * SEC);
        if let Ok(permit) = nodes[0].breaker.try_acquire() {
            break permit;
        }
        sleep(100 * MILLI).await;
    };
    sleep(2 * SEC).await;
    assert!(nodes[1].breaker.try_acquire().is_err(), "one at a time");
    let begin = Instant::now();
    let permit = loop {
        assert!(begin.elapsed() < 8 * SEC, "the open time, and the lease");
        if let Ok(permit) = nodes[1].breaker.try_acquire() {
            break permit;
        }
        sleep(100 * MILLI).await;
    };
    permit.success();
    until(SEC, || count(&nodes, State::Closed) == 3).await;
    hangs.failure();
    assert_eq!(count(&nodes, State::Closed), 3, "it is of an earlier time");
}

#[tokio::test(start_paused = true)]
async fn a_slow_hub_does_not_delay_calls() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let wire = Wire::slow(&hub, 900 * MILLI);
    let _node = Node::on(wire, CONFIG, &backend, 100 * MILLI).await;
    let before = backend.calls();
    sleep(10 * SEC).await;
    let calls = backend.calls() - before;
    assert!(calls >= 90, "{calls}: each 105 ms");
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_loses_its_memory_closes_nothing_in_an_outage() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let config = BreakerConfig::new().timeout(Duration::from_secs(60));
    let nodes = nodes(10, &hub, config, &backend, 100 * MILLI).await;
    sleep(2 * SEC).await;
    backend.set_down(true);
    until(10 * SEC, || count(&nodes, State::Open) == 10).await;
    let calls = backend.calls();

    let empty = MemoryHub::new();
    for node in &nodes {
        node.wire.lead_to(&empty);
    }
    for _ in 0..30 {
        sleep(SEC).await;
        assert_eq!(count(&nodes, State::Open), 10, "the open time is not over");
    }
    assert_eq!(backend.calls(), calls);
    // Afterwards it heals, by what the empty hub learns.
    backend.set_down(false);
    until(120 * SEC, || count(&nodes, State::Closed) == 10).await;
}

const HOLDING: BreakerConfig = CONFIG.hold(Duration::from_secs(60));

fn held(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| !node.breaker.held_for().is_zero()).count()
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_one_member_holds_all_members() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let mut nodes = nodes(10, &hub, HOLDING, &backend, 100 * MILLI).await;
    // Of other settings: one holds calls for 10 s at most, and one never.
    nodes.push(Node::new(&hub, CONFIG.hold(10 * SEC), &backend, 100 * MILLI).await);
    nodes.push(Node::new(&hub, CONFIG, &backend, 100 * MILLI).await);
    let log = listen(&nodes);
    sleep(5 * SEC).await;
    nodes[0].breaker.try_acquire().unwrap().rate_limited(30 * SEC);
    let began = Instant::now();
    until(SEC, || held(&nodes) == 11).await;
    let ends: Vec<_> =
        nodes[..10].iter().map(|node| began.elapsed() + node.breaker.held_for()).collect();
    let is_near = |end: &Duration| *end > 29 * SEC && *end <= 30 * SEC + 10 * MILLI;
    assert!(ends.iter().all(is_near), "{ends:?}");
    assert!(nodes[10].breaker.held_for() <= 10 * SEC);
    assert!(log.lock().unwrap().is_empty(), "no state has changed");
    assert_eq!(count(&nodes, State::Closed), 12);

    // A longer one extends it, and a shorter one does not shorten it.
    nodes[1].breaker.hold(50 * SEC);
    nodes[2].breaker.hold(5 * SEC);
    until(SEC, || nodes[..10].iter().all(|node| node.breaker.held_for() > 48 * SEC)).await;
    // Later calls keep to it.
    let late = Node::new(&hub, HOLDING, &backend, 100 * MILLI).await;
    until(SEC, || late.breaker.held_for() > 47 * SEC).await;
    until(50 * SEC, || held(&nodes) == 0).await;
    let calls = backend.calls();
    sleep(SEC).await;
    assert!(backend.calls() > calls + 50, "all call again");
}

#[tokio::test(start_paused = true)]
async fn a_reset_of_one_member_ends_the_hold_for_all() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(5, &hub, HOLDING, &backend, 100 * MILLI).await;
    nodes[0].breaker.hold(60 * SEC);
    until(SEC, || held(&nodes) == 5).await;
    sleep(SEC).await;
    nodes[3].breaker.reset();
    until(2 * SEC, || held(&nodes) == 0).await;
    sleep(5 * SEC).await;
    assert_eq!(held(&nodes), 0, "and it does not come back");
    // A later one is shared again.
    nodes[4].breaker.hold(20 * SEC);
    until(SEC, || held(&nodes) == 5).await;
    sleep(25 * SEC).await;
    assert_eq!(held(&nodes), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_loses_its_memory_ends_no_hold() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let node = Node::new(&hub, HOLDING, &backend, 100 * MILLI).await;
    node.breaker.hold(60 * SEC);
    sleep(2 * SEC).await;
    let other = MemoryHub::new();
    node.wire.lead_to(&other);
    sleep(2 * SEC).await;
    assert!(node.breaker.held_for() > 50 * SEC);
    let late = Node::new(&other, HOLDING, &backend, 100 * MILLI).await;
    until(SEC, || late.breaker.held_for() > 50 * SEC).await;
}

#[tokio::test(start_paused = true)]
async fn force_ends_the_hold_of_one_member_only() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let nodes = nodes(3, &hub, HOLDING, &backend, 100 * MILLI).await;
    nodes[0].breaker.hold(60 * SEC);
    until(SEC, || held(&nodes) == 3).await;
    nodes[1].breaker.force_closed();
    sleep(5 * SEC).await;
    assert_eq!(held(&nodes), 2);
}
