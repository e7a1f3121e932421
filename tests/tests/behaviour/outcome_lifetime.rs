//! The lifetime of the outcome of a failed attempt, which may hold the only connection of a server.

use std::fmt;
use std::future::{Ready, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Interrupted, Policy, Retrier, policy, retry, retrying,
};
use tokio::time::sleep;
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::support::millis;

/// A server whose failures hold connections.
#[derive(Clone, Default)]
struct Server(Arc<Counters>);

#[derive(Default)]
struct Counters {
    connections: AtomicUsize,
    attempts: AtomicUsize,
    /// The connections when the second attempt began, or the attempt that succeeds.
    at_retry: AtomicUsize,
}

/// An outcome that may hold a connection.
struct Outcome(Option<Server>);

impl Outcome {
    fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if let Some(Server(counters)) = &self.0 {
            counters.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outcome").field(&self.is_held()).finish()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("busy")
    }
}

impl std::error::Error for Outcome {}

impl From<Interrupted> for Outcome {
    fn from(_: Interrupted) -> Self {
        Self(None)
    }
}

impl Server {
    fn connections(&self) -> usize {
        self.0.connections.load(Ordering::Relaxed)
    }

    /// Fails once, with an error that holds a connection.
    fn answer_at_once(&self) -> Result<Outcome, Outcome> {
        let Counters { connections, attempts, at_retry } = &*self.0;
        if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
            connections.fetch_add(1, Ordering::Relaxed);
            return Err(Outcome(Some(self.clone())));
        }
        at_retry.store(self.connections(), Ordering::Relaxed);
        Ok(Outcome(None))
    }

    fn answer(&self) -> Ready<Result<Outcome, Outcome>> {
        ready(self.answer_at_once())
    }

    /// Fails once, with a value that holds a connection.
    fn respond(&self) -> Ready<Result<Outcome, Outcome>> {
        ready(self.answer_at_once().or_else(Ok))
    }

    /// Fails once, does not answer, fails again, and then succeeds.
    async fn lose(&self) -> Result<Outcome, Outcome> {
        let Counters { connections, attempts, at_retry } = &*self.0;
        match attempts.fetch_add(1, Ordering::Relaxed) {
            0 | 2 => {
                connections.fetch_add(1, Ordering::Relaxed);
                Err(Outcome(Some(self.clone())))
            }
            1 => pending().await,
            _ => {
                at_retry.store(self.connections(), Ordering::Relaxed);
                Ok(Outcome(None))
            }
        }
    }

    /// Fails once, and then does not answer.
    async fn hang(&self) -> Result<Outcome, Outcome> {
        self.answer_at_once()?;
        pending().await
    }
}

/// The connections that a failed attempt holds during the wait, and when the next attempt begins.
type Lifetime = (usize, usize);

const NOT_KEPT: [Lifetime; 4] = [(0, 0); 4];
const DURING_THE_WAIT: [Lifetime; 4] = [(1, 0); 4];
const UNTIL_THE_NEXT_OUTCOME: [Lifetime; 4] = [(1, 1); 4];

async fn lifetime<T>(call: impl AsyncFnOnce(Server) -> T) -> Lifetime {
    let server = Server::default();
    let mut call = pin!(call(server.clone()));
    tokio::select! {
        biased;
        _ = call.as_mut() => panic!("the call waits after its first attempt"),
        () = sleep(millis(500)) => {}
    }
    let during_the_wait = server.connections();
    call.await;
    assert_eq!(server.connections(), 0);
    (during_the_wait, server.0.at_retry.load(Ordering::Relaxed))
}

/// The lifetimes of a function, a block, a retrier and a layer.
macro_rules! lifetimes {
    ($method:ident, [$($options:tt)*], $retrier:expr) => {{
        #[retry($($options)*)]
        async fn function(server: Server) -> Result<Outcome, Outcome> {
            server.$method().await
        }
        let block = async |server: Server| {
            let call = retrying!(
                name = "lifetime.block",
                $($options)*
                async || -> Result<Outcome, Outcome> { server.$method().await }
            );
            call.await
        };
        let retrier = $retrier;
        let layer = RetryLayer::new(retrier.clone());
        let service = async |server: Server| {
            let inner = service_fn(move |()| {
                let server = server.clone();
                async move { server.$method().await }
            });
            layer.layer(inner).oneshot(()).await
        };
        [
            lifetime(function).await,
            lifetime(block).await,
            lifetime(async |server| retrier.run(|| server.$method()).await).await,
            lifetime(service).await,
        ]
    }};
}

const PLAIN: Policy = Policy::new();
const HEDGED: Policy = policy!(hedge = "10s");
const BOUNDED: Policy = policy!(deadline = "1m");
const HEDGED_TWICE: Policy = policy!(deadline = "1m", hedge(after = "10s", max = 2));

static SERVER: CircuitBreaker = CircuitBreaker::new("server", BreakerConfig::new());

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_without_a_need() {
    assert_eq!(lifetimes!(answer, [], Retrier::new(PLAIN)), NOT_KEPT);
    assert_eq!(lifetimes!(answer, [policy = HEDGED, hedge,], Retrier::new(HEDGED)), NOT_KEPT);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_keeps_it_until_the_next_attempt_is_admitted() {
    let guarded = Retrier::new(PLAIN).breaker(&SERVER);
    assert_eq!(lifetimes!(answer, [breaker = SERVER,], guarded.clone()), DURING_THE_WAIT);
    let hedged = Retrier::new(HEDGED).breaker(&SERVER);
    let of_hedged = lifetimes!(answer, [policy = HEDGED, hedge, breaker = SERVER,], hedged);
    assert_eq!(of_hedged, DURING_THE_WAIT);
    let values = guarded.retry_on_value(Outcome::is_held);
    let of_values =
        lifetimes!(respond, [breaker = SERVER, retry_on = [ok(Outcome::is_held)],], values);
    assert_eq!(of_values, DURING_THE_WAIT);
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_keeps_it_until_the_next_attempt_begins() {
    #[retry(cancel = pending::<()>())]
    async fn function(server: Server) -> Result<Outcome, Outcome> {
        server.answer().await
    }
    #[retry(cancel = pending::<()>(), policy = HEDGED, hedge)]
    async fn hedged(server: Server) -> Result<Outcome, Outcome> {
        server.answer().await
    }
    let block = async |server: Server| {
        let call = retrying!(name = "lifetime.block", cancel = pending::<()>(), async || {
            server.answer().await
        });
        call.await
    };
    let retrier = Retrier::new(PLAIN);
    let kept = [
        lifetime(function).await,
        lifetime(hedged).await,
        lifetime(block).await,
        lifetime(async |server| retrier.run(|| server.answer()).cancel(pending::<()>()).await)
            .await,
    ];
    assert_eq!(kept, DURING_THE_WAIT);
}

#[test]
fn a_call_that_blocks_keeps_nothing_while_an_attempt_runs() {
    const SHORT: Policy = policy!(initial_delay = "1ms", deadline = "1m");

    #[retry(policy = SHORT, breaker = SERVER)]
    fn function(server: &Server) -> Result<Outcome, Outcome> {
        server.answer_at_once()
    }
    let block = |server: &Server| {
        retrying!(name = "lifetime.block", policy = runtime(SHORT), || server.answer_at_once())
    };
    let (bounded, guarded) = (Retrier::new(SHORT), Retrier::new(SHORT).breaker(&SERVER));
    let servers: [Server; 4] = Default::default();
    function(&servers[0]).unwrap();
    block(&servers[1]).unwrap();
    bounded.run_sync(|| servers[2].answer_at_once()).unwrap();
    guarded.run_sync(|| servers[3].answer_at_once()).unwrap();
    for server in servers {
        assert_eq!(server.0.at_retry.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_keeps_an_error_until_the_next_attempt_ends() {
    let bounded = Retrier::new(BOUNDED);
    let kept = lifetimes!(answer, [policy = BOUNDED,], bounded.clone());
    assert_eq!(kept, UNTIL_THE_NEXT_OUTCOME);
    let kept = lifetimes!(answer, [deadline = "1m",], bounded.clone().breaker(&SERVER));
    assert_eq!(kept, UNTIL_THE_NEXT_OUTCOME);
    let kept = lifetimes!(hang, [deadline = "1m",], bounded);
    assert_eq!(kept, UNTIL_THE_NEXT_OUTCOME);
}

#[tokio::test(start_paused = true)]
async fn a_hedge_that_fails_replaces_the_error_that_a_deadline_keeps() {
    let hedged = Retrier::new(HEDGED_TWICE);
    let kept = lifetimes!(lose, [policy = HEDGED_TWICE, hedge,], hedged.clone());
    assert_eq!(kept, UNTIL_THE_NEXT_OUTCOME);
    let kept = lifetimes!(lose, [policy = runtime(HEDGED_TWICE), hedge,], hedged);
    assert_eq!(kept, UNTIL_THE_NEXT_OUTCOME);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_keeps_a_value_until_the_next_attempt_begins() {
    let values = Retrier::new(BOUNDED).retry_on_value(Outcome::is_held);
    let kept = lifetimes!(respond, [deadline = "1m", retry_on = [ok(Outcome::is_held)],], values);
    assert_eq!(kept, DURING_THE_WAIT);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_policy_keeps_it_only_if_it_has_a_deadline() {
    let kept = lifetimes!(answer, [policy = runtime(PLAIN),], Retrier::new(PLAIN));
    assert_eq!(kept, NOT_KEPT);
    let kept = lifetimes!(answer, [policy = runtime(BOUNDED),], Retrier::new(BOUNDED));
    assert_eq!(kept, UNTIL_THE_NEXT_OUTCOME);
}
