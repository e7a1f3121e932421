//! The effect of a hold on the load of a server that limits its callers, on virtual time:
//! `cargo test -p retry-tests --test parts hold_simulation -- --nocapture` prints the figures.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker, Class, Classify, Policy, Reason, Retrier};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

const WAIT: Duration = Duration::from_secs(30);
const HOLDING: BreakerConfig = BreakerConfig::new().hold(Duration::from_mins(2));

#[derive(Debug)]
struct Limited(Duration);

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "429 Too Many Requests, retry after {:?}", self.0)
    }
}

impl Classify for Limited {
    fn class(&self) -> Class {
        Class::RATE_LIMIT
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(self.0)
    }
}

/// A server that limits its callers.
#[derive(Clone, Copy)]
enum Server {
    /// It is busy for 30 s, and asks for the rest of that.
    Busy,
    /// It takes this many requests in a second, and asks the others to wait for 30 s from now.
    Takes(u32),
}

#[derive(Debug, Default)]
struct Load {
    requests: u32,
    /// Those of the breaker, which reach no server.
    rejections: u32,
    succeeded: usize,
    out_of_attempts: usize,
    took: Duration,
}

/// A second, and the requests in it.
type Window = (u64, u32);

fn answer(server: Server, now: Duration, window: &Cell<Window>) -> Result<(), Limited> {
    match server {
        Server::Busy if now < WAIT => Err(Limited(WAIT.saturating_sub(now))),
        Server::Busy => Ok(()),
        Server::Takes(limit) => {
            let (second, taken) = window.get();
            let taken = if second == now.as_secs() { taken } else { 0 };
            window.set((now.as_secs(), taken + 1));
            if taken < limit { Ok(()) } else { Err(Limited(WAIT)) }
        }
    }
}

/// The times between two callers, and of an answer.
#[derive(Clone, Copy, Debug)]
struct Pace {
    apart: Duration,
    latency: Duration,
}

/// All at once, and answered at once.
const INSTANT: Pace = Pace { apart: Duration::ZERO, latency: Duration::ZERO };
const REAL: Pace = Pace { apart: Duration::from_millis(5), latency: Duration::from_millis(20) };

/// Calls with three attempts each, which wait for their breaker.
async fn load(server: Server, pace: Pace, callers: u32, config: BreakerConfig) -> Load {
    let breaker = Arc::new(CircuitBreaker::named("api", config));
    let policy = Policy::new().attempts(3);
    let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker)).wait_when_open().classified();
    let (requests, window) = (Rc::new(Cell::new(0)), Rc::new(Cell::new((0, 0))));
    let (start, local) = (Instant::now(), LocalSet::new());
    let mut calls = Vec::new();
    for caller in 0..callers {
        let (retrier, requests, window) = (retrier.clone(), requests.clone(), window.clone());
        calls.push(local.spawn_local(async move {
            sleep(pace.apart * caller).await;
            let attempt = || async {
                requests.set(requests.get() + 1);
                sleep(pace.latency / 2).await;
                let answered = answer(server, start.elapsed(), &window);
                sleep(pace.latency / 2).await;
                answered
            };
            retrier.run(attempt).await.map_err(|error| error.reason())
        }));
    }
    let mut load = Load::default();
    local
        .run_until(async {
            for call in calls {
                match call.await.unwrap() {
                    Ok(()) => load.succeeded += 1,
                    Err(Reason::Attempts | Reason::CircuitOpen) => load.out_of_attempts += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        })
        .await;
    let rejections = u32::try_from(breaker.snapshot().outcomes.rejected).unwrap();
    Load { requests: requests.get(), rejections, took: start.elapsed(), ..load }
}

#[tokio::test(start_paused = true)]
async fn fifty_callers_send_a_busy_server_little_more_than_one_request_each() {
    for (pace, fewest) in [(INSTANT, 51), (REAL, 55)] {
        let without = load(Server::Busy, pace, 50, BreakerConfig::new()).await;
        let with = load(Server::Busy, pace, 50, HOLDING).await;
        println!(
            "50 callers, busy for 30 s, {pace:?}\n  without: {without:?}\n  with:    {with:?}"
        );
        assert!(without.requests > with.requests);
        // One for each caller, and those made before the first answer came.
        assert!((51..=fewest).contains(&with.requests), "{with:?}");
        assert_eq!((with.succeeded, with.out_of_attempts), (50, 0));
        assert_eq!(with.requests + with.rejections, 100, "each waits once");
        assert!(with.took <= WAIT + WAIT / 8);
    }
}

#[tokio::test(start_paused = true)]
async fn five_hundred_callers_get_through_a_server_that_renews_its_wait() {
    // Rate limits that do not open the breaker: its threshold is out of reach.
    let config = BreakerConfig::new().failure_threshold(1_000_000);
    for pace in [INSTANT, REAL] {
        let without = load(Server::Takes(20), pace, 500, config).await;
        let with = load(Server::Takes(20), pace, 500, HOLDING.failure_threshold(1_000_000)).await;
        println!("500 callers, 20 a second, {pace:?}\n  without: {without:?}\n  with:    {with:?}");
        assert!(without.succeeded < 250, "{without:?}");
        assert!(with.succeeded >= 490, "{with:?}");
        assert!(with.requests < 700, "{with:?}");
    }
}
