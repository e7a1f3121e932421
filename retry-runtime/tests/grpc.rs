//! A gRPC server's wishes for the next attempt, on virtual time.
#![allow(missing_docs, reason = "tests")]

use std::cell::Cell;
use std::error::Error;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::{
    Attempt, BreakerConfig, CircuitBreaker, Class, Classify, Interrupted, Policy, Reason, Retrier,
    RetryError, State, retry, retrying,
};
use tokio::time::Instant;
use tonic::{Code, Status};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The failure of a server that says this about the next attempt.
fn busy(pushback: &'static str) -> Status {
    let mut status = Status::new(Code::Unavailable, "busy");
    status.metadata_mut().insert("grpc-retry-pushback-ms", pushback.parse().unwrap());
    status
}

#[derive(Default)]
struct Server(Cell<u32>);

impl Server {
    /// Fails twice.
    fn call(&self, pushback: &'static str) -> Result<u32, Status> {
        self.0.set(self.0.get() + 1);
        if self.0.get() <= 2 { Err(busy(pushback)) } else { Ok(self.0.get()) }
    }

    fn calls(&self) -> u32 {
        self.0.get()
    }
}

#[retry]
async fn bare(server: &Server, pushback: &'static str) -> Result<u32, Status> {
    server.call(pushback)
}

#[tokio::test(start_paused = true)]
async fn the_pushback_replaces_the_curve() {
    for (pushback, waited) in [("1500", ms(2 * 1_500)), ("0", ms(1_000 + 2_000))] {
        let (server, start) = (Server::default(), Instant::now());
        assert_eq!(bare(&server, pushback).await.unwrap(), 3);
        assert_eq!(start.elapsed(), waited, "{pushback}");
    }
}

/// An error that leaves its class and its hint to the status in it.
#[derive(Debug, Classify)]
#[classify(transparent)]
struct Derived(Status);

impl std::fmt::Display for Derived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the call has failed")
    }
}

impl Error for Derived {}

#[tokio::test(start_paused = true)]
async fn a_negative_pushback_ends_the_retries() {
    #[retry(retry_on = [transient])]
    async fn listed(server: &Server, pushback: &'static str) -> Result<u32, RetryError<Status>> {
        server.call(pushback)
    }
    #[retry(retry_after = |_| None)]
    async fn asked(server: &Server, pushback: &'static str) -> Result<u32, Status> {
        server.call(pushback)
    }
    #[retry(wait_by = |_, _, wait| ControlFlow::Continue(2 * wait))]
    async fn adjusted(server: &Server, pushback: &'static str) -> Result<u32, Status> {
        server.call(pushback)
    }
    #[retry]
    async fn erased(server: &Server, pushback: &'static str) -> anyhow::Result<u32> {
        Ok(server.call(pushback)?)
    }
    #[retry]
    async fn derived(server: &Server, pushback: &'static str) -> Result<u32, Derived> {
        server.call(pushback).map_err(Derived)
    }
    #[retry]
    async fn inside(server: &Server, pushback: &'static str) -> io::Result<u32> {
        server.call(pushback).map_err(|status| io::Error::other(Derived(status)))
    }
    #[retry]
    async fn outer(server: &Server, pushback: &'static str) -> Result<u32, Box<dyn Error>> {
        Ok(listed(server, pushback).await?)
    }
    #[retry]
    fn blocking(server: &Server, pushback: &'static str) -> Result<u32, Status> {
        server.call(pushback)
    }

    let retrier = Retrier::new(Policy::new());
    let classified = Retrier::new(Policy::new()).classified();
    for pushback in ["-1", "-2147483648", "2147483648", "soon", ""] {
        let server = &Server::default();
        let error = listed(server, pushback).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 1), "{pushback:?}");

        macro_rules! is_called_once {
            ($server:ident => $call:expr) => {{
                let $server = &Server::default();
                $call.unwrap_err();
                assert_eq!($server.calls(), 1, "{pushback:?}");
            }};
        }
        is_called_once!(server => bare(server, pushback).await);
        is_called_once!(server => asked(server, pushback).await);
        is_called_once!(server => adjusted(server, pushback).await);
        is_called_once!(server => erased(server, pushback).await);
        is_called_once!(server => derived(server, pushback).await);
        is_called_once!(server => inside(server, pushback).await);
        is_called_once!(server => outer(server, pushback).await);
        is_called_once!(server => blocking(server, pushback));
        is_called_once!(server => retrier.run(async || server.call(pushback)).await);
        is_called_once!(server => {
            let block = retrying!(name = "grpc.block", async |_| -> Result<u32, Status> {
                server.call(pushback)
            });
            block.await
        });

        let status = busy(pushback);
        let decision = classified.decide(&mut CallState::default(), &Failed::now(&status));
        assert_eq!(decision, Decision::GiveUp(Reason::NotRetryable), "{pushback:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_the_program_overrides_the_server() {
    fn call(server: &Server, cx: &Attempt) -> Result<u32, Status> {
        cx.retry_after(ms(50));
        server.call("-1")
    }
    #[retry(context = cx)]
    async fn ruled(server: &Server) -> Result<u32, Status> {
        call(server, cx)
    }
    #[retry(retry_after = |_| Some(ms(50)))]
    async fn asked(server: &Server) -> Result<u32, Status> {
        server.call("-1")
    }
    let start = Instant::now();
    assert_eq!(ruled(&Server::default()).await.unwrap(), 3);
    assert_eq!(start.elapsed(), ms(2 * 50));
    assert_eq!(asked(&Server::default()).await.unwrap(), 3);
    assert_eq!(start.elapsed(), ms(4 * 50));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_must_not_be_repeated_is_a_failure_for_its_breaker() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("grpc.pushback", BreakerConfig::new().failure_threshold(1));

    #[retry(breaker = DB, retry_on = [network])]
    async fn query(server: &Server) -> Result<u32, RetryError<Status>> {
        server.call("-1")
    }
    assert_eq!(query(&Server::default()).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(DB.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_hedge_that_must_not_be_repeated_ends_its_group() {
    #[retry(hedge = "10ms", attempts = 3, context = cx)]
    async fn ask(begun: &Cell<u32>) -> Result<(), RetryError<Status>> {
        begun.set(begun.get() + 1);
        if cx.hedge() == 0 {
            tokio::time::sleep(ms(60_000)).await;
        }
        Err(busy("-1"))
    }
    let (begun, start) = (Cell::new(0), Instant::now());
    assert_eq!(ask(&begun).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!((begun.get(), start.elapsed()), (2, ms(10)));
}

#[tokio::test(start_paused = true)]
async fn a_status_holds_the_interruption_of_a_call() {
    static USERS: CircuitBreaker =
        CircuitBreaker::new("users", BreakerConfig::new().failure_threshold(1));

    #[retry(attempts = 2, timeout = "2s", breaker = USERS, retry_on = [transient])]
    async fn user() -> Result<u32, Status> {
        std::future::pending().await
    }

    let late = user().await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded);
    assert_eq!(late.message(), "the attempt timed out after 2s");
    assert_eq!(Classify::class(&late), Class::TIMEOUT);

    tokio::time::sleep(ms(10_000)).await;
    let rejected = user().await.unwrap_err();
    assert_eq!(rejected.code(), Code::Unavailable);
    assert_eq!(Classify::class(&rejected), Class::empty());
    let Some(Interrupted::CircuitOpen { remaining, .. }) = Interrupted::find_in(&rejected) else {
        panic!("{rejected:?}")
    };
    assert_eq!(*remaining, ms(20_000));
}
