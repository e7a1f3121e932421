//! Hundreds of members on virtual time, with the breakers, tasks and timers that real processes
//! have: what sharing gains, and which faults it survives. Two hundred show it as a thousand do,
//! for each bound is one of a share, of a time, or of the whole fleet. The figures in the crate's
//! documentation are those of a thousand, which
//! `MEMBERS=1000 cargo test -p retry-fleet simulation -- --nocapture` prints.
//!
//! Members call between twenty times a second and once in five seconds, spread evenly over the
//! orders of magnitude. A round trip to the hub takes 2 to 40 ms.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use retry_fleet::{Fleet, MemoryHub};
use retry_runtime::{BreakerConfig, CircuitBreaker, State};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::{Backend, MILLI, SEC, Wire, call_forever};

static MEMBERS: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("MEMBERS").map_or(200, |members| members.parse().expect("a number of members"))
});
const CONFIG: BreakerConfig = BreakerConfig::new().timeout(Duration::from_secs(5));

struct Process {
    breaker: Arc<CircuitBreaker>,
    wire: Wire,
    fleet: Option<Fleet>,
    calling: JoinHandle<()>,
    moves: Arc<Mutex<Vec<(Instant, State)>>>,
}

impl Process {
    async fn start(number: u32, hub: &MemoryHub, backend: Backend, is_shared: bool) -> Self {
        let breaker = Arc::new(CircuitBreaker::new("db", CONFIG));
        let moves = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&moves);
        breaker.on_transition(move |transition| {
            log.lock().unwrap().push((Instant::now(), transition.to));
        });
        let latency = (2 + number * 7 % 39) * MILLI;
        let wire = Wire::slow(hub, latency);
        let fleet = if is_shared {
            let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
            fleet.share(Arc::clone(&breaker));
            Some(fleet)
        } else {
            None
        };
        let pause = SEC.mul_f64(0.05 * 100_f64.powf(f64::from(number) / f64::from(*MEMBERS)));
        let own = Arc::clone(&breaker);
        let calling = tokio::spawn(async move {
            // Each starts at a different moment.
            sleep(pause.mul_f64(f64::from(number * 37 % 100) / 100.0)).await;
            call_forever(own, backend, pause).await;
        });
        Self { breaker, wire, fleet, calling, moves }
    }

    /// The time from `since` until it first reached this state.
    fn first(&self, state: State, since: Instant) -> Option<Duration> {
        let moves = self.moves.lock().unwrap();
        let found = moves.iter().find(|(at, to)| *at >= since && *to == state);
        found.map(|(at, _)| *at - since)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.calling.abort();
    }
}

async fn start(hub: &MemoryHub, is_shared: bool, backend: impl Fn(u32) -> Backend) -> Vec<Process> {
    let starting: Vec<_> = (0..*MEMBERS)
        .map(|number| {
            let (hub, backend) = (hub.clone(), backend(number));
            tokio::spawn(async move { Process::start(number, &hub, backend, is_shared).await })
        })
        .collect();
    let mut processes = Vec::new();
    for process in starting {
        processes.push(process.await.unwrap());
    }
    processes
}

fn count(processes: &[Process], state: State) -> usize {
    processes.iter().filter(|process| process.breaker.state() == state).count()
}

/// The median and the 99th percentile.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn firsts(processes: &[Process], state: State, since: Instant) -> Vec<Duration> {
    processes.iter().filter_map(|process| process.first(state, since)).collect()
}

struct Outage {
    opened: (Duration, Duration),
    closed: (Duration, Duration),
    /// Calls that reached the failing backend, in each half of the minute.
    calls: u64,
    later_calls: u64,
    requests: u64,
}

/// Simulates a minute in which the backend is down.
async fn outage(is_shared: bool) -> Outage {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let processes = start(&hub, is_shared, |_| backend.clone()).await;
    sleep(5 * SEC).await;
    backend.set_down(true);
    let (begin, before) = (Instant::now(), backend.calls());
    let requests = || processes.iter().map(|process| process.wire.requests()).sum::<u64>();
    let asked = requests();
    sleep(30 * SEC).await;
    let calls = backend.calls() - before;
    sleep(30 * SEC).await;
    let later_calls = backend.calls() - before - calls;
    let requests = (requests() - asked) / 60;
    let opened = firsts(&processes, State::Open, begin);
    assert_eq!(opened.len(), processes.len());
    assert_eq!(count(&processes, State::Closed), 0);
    backend.set_down(false);
    let back = Instant::now();
    sleep(if is_shared { 15 * SEC } else { 40 * SEC }).await;
    if is_shared {
        assert_eq!(count(&processes, State::Closed), processes.len());
    }
    let closed = spread(firsts(&processes, State::Closed, back));
    Outage { opened: spread(opened), closed, calls, later_calls, requests }
}

#[tokio::test(start_paused = true)]
async fn in_a_total_outage_all_members_open_soon_and_few_calls_are_made() {
    let (shared, alone) = (outage(true).await, outage(false).await);
    for (name, Outage { opened, closed, calls, later_calls, requests }) in
        [("shared", &shared), ("alone", &alone)]
    {
        println!(
            "outage, {name}: open after {:.1?} (median), {:.1?} (99th); {calls} calls in the first \
             half of a minute, {later_calls} in the second; closed {:.1?} (median), {:.1?} (99th) after its \
             end; {requests} requests/s to the hub",
            opened.0, opened.1, closed.0, closed.1
        );
    }
    assert!(shared.opened.1 < 5 * SEC, "half of them call twice a second or more: five failures");
    assert!(alone.opened.1 > 18 * SEC);
    assert!(shared.later_calls <= 10, "{}", shared.later_calls);
    assert!(alone.later_calls > u64::from(*MEMBERS), "{}", alone.later_calls);
    assert!(shared.calls < alone.calls / 2, "{} of {}", shared.calls, alone.calls);
    // A probe that failed just before the end, a whole open time, then the probes that close it.
    assert!(shared.closed.1 < 12 * SEC, "{:?}", shared.closed);
    assert!(shared.requests < 5 * u64::from(*MEMBERS), "{}", shared.requests);
}

#[tokio::test(start_paused = true)]
async fn disconnected_members_decide_alone_and_recover() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let processes = start(&hub, true, |_| backend.clone()).await;
    sleep(5 * SEC).await;
    // Every second member is cut off, however often it calls.
    let is_cut = |number: usize| number % 2 == 0;
    let each_cut = || processes.iter().enumerate().filter(|(number, _)| is_cut(*number));
    backend.set_down(true);
    sleep(5 * SEC).await;
    assert_eq!(count(&processes, State::Closed), 0);
    for (_, process) in each_cut() {
        process.wire.cut();
    }
    let before = backend.calls();
    sleep(20 * SEC).await;
    let calls = backend.calls() - before;
    backend.set_down(false);
    let back = Instant::now();
    sleep(20 * SEC).await;
    let of = |cut: bool| {
        let those = processes.iter().enumerate().filter(|(number, _)| is_cut(*number) == cut);
        those.filter_map(|(_, process)| process.first(State::Closed, back)).collect::<Vec<_>>()
    };
    let (connected, alone) = (of(false), of(true));
    let (connected_all, alone_some) = (connected.len(), alone.len());
    let (connected, alone) = (spread(connected), spread(alone));
    println!(
        "partition: {calls} calls in 20 s; closed after {:.1?} (median), {:.1?} (99th) with the hub, \
         {:.1?}, {:.1?} without ({alone_some} of {} within 20 s)",
        connected.0,
        connected.1,
        alone.0,
        alone.1,
        processes.len() / 2
    );
    assert_eq!(connected_all, processes.len() / 2);
    assert!(connected.1 < 12 * SEC, "{connected:?}");
    // Three probes each, while some members call only every five seconds.
    assert!(alone_some * 5 > connected_all * 4, "{alone_some}");
    for (_, process) in each_cut() {
        process.wire.restore();
    }
    sleep(10 * SEC).await;
    assert_eq!(count(&processes, State::Closed), processes.len());
}

#[tokio::test(start_paused = true)]
async fn bad_nodes_open_their_own_and_no_others() {
    let (hub, backend, down) = (MemoryHub::new(), Backend::default(), Backend::default());
    down.set_down(true);
    let is_bad = |number: u32| number % 20 == 0;
    let pick = |number| if is_bad(number) { down.clone() } else { backend.clone() };
    let processes = start(&hub, true, pick).await;
    let begin = Instant::now();
    sleep(25 * SEC).await;
    let opened: Vec<_> = (0..)
        .zip(&processes)
        .map(|(number, process)| {
            (is_bad(number), process.first(State::Open, begin - 5 * SEC).is_some())
        })
        .collect();
    let bad = opened.iter().filter(|(bad, open)| *bad && *open).count();
    let poisoned = opened.iter().filter(|(bad, open)| !*bad && *open).count();
    let all_bad = opened.iter().filter(|(bad, _)| *bad).count();
    println!(
        "bad nodes: of {all_bad} {bad} have opened their own within 25 s, and {poisoned} others"
    );
    assert!(bad * 5 >= all_bad * 4 && poisoned == 0, "{bad}, {poisoned}");
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_all_members_in_an_outage_continues_the_state() {
    let (hub, backend) = (MemoryHub::new(), Backend::default());
    let processes = start(&hub, true, |_| backend.clone()).await;
    sleep(5 * SEC).await;
    backend.set_down(true);
    sleep(5 * SEC).await;
    assert_eq!(count(&processes, State::Closed), 0);
    for process in &processes {
        process.fleet.as_ref().unwrap().leave().await;
    }
    drop(processes);
    let before = backend.calls();
    let begin = Instant::now();
    let processes = start(&hub, true, |_| backend.clone()).await;
    let joined = begin.elapsed();
    sleep(2 * SEC).await;
    let open = count(&processes, State::Closed);
    assert_eq!(open, 0, "they know it from the beginning");
    sleep(10 * SEC).await;
    let calls = backend.calls() - before;
    println!("restart: all {} joined within {joined:.1?}; {calls} calls in 12 s", *MEMBERS);
    assert!(joined < SEC, "{joined:?}");
    assert!(calls < 10, "{calls}");
    backend.set_down(false);
    sleep(15 * SEC).await;
    assert_eq!(count(&processes, State::Closed), processes.len());
}
