//! `retry_on`: which outcomes are retried.

use std::io;

use retry_runtime::matchers::{connect, network};
use retry_runtime::{Class, Missing, Policy, Reason, Retrier, RetryError, retry};

use crate::support::{Calls, Classified, Failure};

#[tokio::test(start_paused = true)]
async fn without_it_every_failure_is_retried() {
    #[retry(attempts = 2)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        Err(Failure::Corrupt)
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_outside_retry_on_ends_the_call() {
    #[retry(retry_on = [matches(Failure::Busy(_))])]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        match calls.make() {
            1 => Err(Failure::Busy(1)),
            _ => Err(Failure::Corrupt),
        }
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.reason(), error.attempts()), (2, Reason::NotRetryable, 2));
    assert_eq!(error.last(), Some(&Failure::Corrupt));
}

#[tokio::test(start_paused = true)]
async fn a_last_attempt_that_is_not_retryable_has_that_reason() {
    #[retry(attempts = 2, retry_on = [when(Failure::is_busy)])]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        match calls.make() {
            1 => Err(Failure::Busy(1)),
            _ => Err(Failure::Corrupt),
        }
    }
    let error = fetch(&Calls::new()).await.unwrap_err();
    assert_eq!((error.attempts(), error.reason()), (2, Reason::NotRetryable));
}

#[tokio::test(start_paused = true)]
async fn classes_are_found_by_type_and_by_text() {
    #[retry(attempts = 2, retry_on = [network, server_error])]
    async fn io(calls: &Calls, kind: io::ErrorKind) -> io::Result<()> {
        calls.make();
        Err(kind.into())
    }
    #[retry(attempts = 2, retry_on = [network, server_error])]
    async fn text(calls: &Calls, text: &str) -> Result<(), String> {
        calls.make();
        Err(text.to_owned())
    }
    #[retry(attempts = 2, retry_on = [rate_limit, timeout])]
    async fn own(calls: &Calls, class: Class) -> Result<(), Classified> {
        calls.make();
        Err(Classified(class, None))
    }
    let calls = Calls::new();
    io(&calls, io::ErrorKind::ConnectionRefused).await.unwrap_err();
    assert_eq!(calls.made(), 2);
    let calls = Calls::new();
    io(&calls, io::ErrorKind::PermissionDenied).await.unwrap_err();
    assert_eq!(calls.made(), 1);
    for (message, made) in [("HTTP 503", 2), ("took 1500ms", 1), ("connection refused", 2)] {
        let calls = Calls::new();
        text(&calls, message).await.unwrap_err();
        assert_eq!(calls.made(), made, "{message}");
    }
    for (class, made) in [(Class::RATE_LIMIT, 2), (Class::TIMEOUT, 2), (Class::NETWORK, 1)] {
        let calls = Calls::new();
        own(&calls, class).await.unwrap_err();
        assert_eq!(calls.made(), made, "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn connect_retries_requests_that_were_certainly_not_sent() {
    #[retry(attempts = 2, retry_on = [connect])]
    async fn order(calls: &Calls, kind: io::ErrorKind) -> io::Result<()> {
        calls.make();
        Err(kind.into())
    }
    #[retry(attempts = 2, retry_on = [network], abort_on = [connect])]
    async fn other(calls: &Calls, kind: io::ErrorKind) -> io::Result<()> {
        calls.make();
        Err(kind.into())
    }
    #[retry(attempts = 2, retry_on = [connect, rate_limit])]
    async fn own(calls: &Calls, class: Class) -> Result<(), Classified> {
        calls.make();
        Err(Classified(class, None))
    }
    use io::ErrorKind as Kind;

    for kind in [
        Kind::ConnectionRefused,
        Kind::ConnectionReset,
        Kind::BrokenPipe,
        Kind::HostUnreachable,
        Kind::AddrNotAvailable,
        Kind::TimedOut,
    ] {
        let (is_refused, is_timeout) = (kind == Kind::ConnectionRefused, kind == Kind::TimedOut);
        let calls = Calls::new();
        order(&calls, kind).await.unwrap_err();
        assert_eq!(calls.made(), if is_refused { 2 } else { 1 }, "{kind}");
        let calls = Calls::new();
        other(&calls, kind).await.unwrap_err();
        assert_eq!(calls.made(), if is_refused || is_timeout { 1 } else { 2 }, "{kind}");
        let calls = Calls::new();
        let retrier = Retrier::new(Policy::new().attempts(2)).retry_on([connect]);
        let call = retrier.run(async || {
            calls.make();
            Err::<(), _>(io::Error::from(kind))
        });
        call.await.unwrap_err();
        assert_eq!(calls.made(), if is_refused { 2 } else { 1 }, "{kind}");
    }
    for (class, made) in [(Class::CONNECT, 2), (Class::NETWORK, 1), (Class::RATE_LIMIT, 2)] {
        let calls = Calls::new();
        own(&calls, class).await.unwrap_err();
        assert_eq!(calls.made(), made, "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn class_of_connect_alone_is_a_network_failure_too() {
    let unsent = |_: &io::Error| Some(Class::CONNECT);
    #[retry(attempts = 2, retry_on = [network], classify = |_: &io::Error| Some(Class::CONNECT))]
    async fn told(calls: &Calls) -> io::Result<()> {
        calls.make();
        Err(io::Error::other("unsent"))
    }
    #[retry(attempts = 2, retry_on = [network])]
    async fn own(calls: &Calls) -> Result<(), Classified> {
        calls.make();
        Err(Classified(Class::CONNECT | Class::TIMEOUT, None))
    }
    let calls = Calls::new();
    told(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 2);
    let calls = Calls::new();
    own(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 2);
    let retrier = Retrier::new(Policy::new().attempts(2)).retry_on([network]).classify(unsent);
    let error = retrier.run(async || Err::<(), _>(io::Error::other("unsent"))).await.unwrap_err();
    assert_eq!(error.attempts(), 2);
    let described = retrier.describe(&io::Error::other("unsent"));
    assert!(described.class == Class::NETWORK | Class::CONNECT);
    let kept =
        retry_workflow::Failure::from_error(&io::Error::from(io::ErrorKind::ConnectionRefused));
    assert_eq!(kept.class, "network");
}

#[tokio::test(start_paused = true)]
async fn a_pattern_reads_the_error_and_its_sources() {
    #[retry(attempts = 2, retry_on = [pattern("(?i)database is locked")])]
    async fn query(calls: &Calls, text: &str) -> anyhow::Result<()> {
        calls.make();
        Err(anyhow::anyhow!(text.to_owned()).context("saving the order"))
    }
    for (text, made) in [("the Database is LOCKED", 2), ("no such table", 1)] {
        let calls = Calls::new();
        query(&calls, text).await.unwrap_err();
        assert_eq!(calls.made(), made, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn patterns_of_the_language_may_have_guards_and_alternatives() {
    #[retry(
        attempts = 9,
        retry_on = [matches(Failure::Busy(call) if *call < 3), matches(Failure::Corrupt | Failure::Busy(7))]
    )]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    assert_eq!(fetch(&calls).await, Err(Failure::Busy(3)));
}

#[tokio::test(start_paused = true)]
async fn a_predicate_may_be_a_function_or_a_closure_over_the_arguments() {
    #[retry(attempts = 9, retry_on = [when(Failure::is_busy)])]
    async fn by_function(calls: &Calls) -> Result<(), Failure> {
        match calls.make() {
            4 => Err(Failure::Corrupt),
            call => Err(Failure::Busy(call)),
        }
    }
    #[retry(attempts = 9, retry_on = [when(|error| *error != Failure::Busy(last))])]
    async fn by_closure(calls: &Calls, last: u32) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    assert_eq!(by_function(&calls).await, Err(Failure::Corrupt));
    assert_eq!(calls.made(), 4);
    assert_eq!(by_closure(&Calls::new(), 5).await, Err(Failure::Busy(5)));
}

#[tokio::test(start_paused = true)]
async fn ok_retries_values_of_a_result_and_gives_the_last_one() {
    #[retry(attempts = 4, retry_on = [ok(|page: &u32| *page < limit)])]
    async fn page(calls: &Calls, limit: u32) -> Result<u32, Failure> {
        Ok(calls.make())
    }
    assert_eq!(page(&Calls::new(), 3).await, Ok(3));
    assert_eq!(page(&Calls::new(), 99).await, Ok(4), "the last value at the end");
}

#[tokio::test(start_paused = true)]
async fn retry_ok_alone_does_not_retry_errors() {
    #[retry(attempts = 4, retry_on = [ok(|page: &u32| *page < 3)])]
    async fn page(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        match calls.make() {
            2 => Err(Failure::Corrupt),
            call => Ok(call),
        }
    }
    let error = page(&Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 2));
}

#[tokio::test(start_paused = true)]
async fn ok_retries_values_of_an_option() {
    #[retry(attempts = 4, retry_on = [ok(|job: &u32| *job < 3), when(|_: &Missing| true)])]
    async fn job(calls: &Calls, limit: u32) -> Option<u32> {
        match calls.make() {
            1 => None,
            call if call < limit => Some(call.min(2)),
            call => Some(call),
        }
    }
    assert_eq!(job(&Calls::new(), 3).await, Some(3));
    assert_eq!(job(&Calls::new(), 99).await, Some(2), "the last value at the end");
}

#[tokio::test(start_paused = true)]
async fn ok_retries_any_type() {
    #[derive(Debug, PartialEq)]
    struct State(u32);
    #[retry(attempts = 4, retry_on = [ok(|state: &State| state.0 < limit)])]
    async fn poll(calls: &Calls, limit: u32) -> State {
        State(calls.make())
    }
    assert_eq!(poll(&Calls::new(), 3).await, State(3));
    let calls = Calls::new();
    assert_eq!(poll(&calls, 99).await, State(4), "the last value at the end");
    assert_eq!(calls.made(), 4);
}

#[tokio::test(start_paused = true)]
async fn transient_is_every_kind_and_conflict_one_of_its_own() {
    #[retry(attempts = 2, retry_on = [transient])]
    async fn transient(text: &str, calls: &Calls) -> Result<(), String> {
        calls.make();
        Err(text.to_owned())
    }
    #[retry(attempts = 2, retry_on = [timeout])]
    async fn timeout(text: &str, calls: &Calls) -> Result<(), String> {
        calls.make();
        Err(text.to_owned())
    }
    #[retry(attempts = 2, retry_on = [conflict])]
    async fn conflict(text: &str, calls: &Calls) -> Result<(), String> {
        calls.make();
        Err(text.to_owned())
    }

    for (text, expected) in [
        ("connection reset by peer", [2, 1, 1]),
        ("the request timed out", [2, 2, 1]),
        ("503 Service Unavailable", [2, 1, 1]),
        ("429 Too Many Requests", [2, 1, 1]),
        // A conflict, though its text says "timeout".
        ("1205 (HY000): Lock wait timeout exceeded; try restarting transaction", [2, 1, 2]),
        ("404 Not Found", [1, 1, 1]),
        ("no tax rate for order 7", [1, 1, 1]),
    ] {
        let calls = [Calls::new(), Calls::new(), Calls::new()];
        transient(text, &calls[0]).await.unwrap_err();
        timeout(text, &calls[1]).await.unwrap_err();
        conflict(text, &calls[2]).await.unwrap_err();
        assert_eq!(calls.map(|calls| calls.made()), expected, "{text}");
    }
}
