//! What a call reports through `tracing`, under the target `retry`.

use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Retrier, RetryError, retry};
use tracing::Level;

use crate::support::{Calls, Failure, heard, listen, secs};

#[tokio::test(start_paused = true)]
async fn a_retry_and_a_recovery_are_reported() {
    #[retry(attempts = 5, name = "fetch")]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        match calls.make() {
            3 => Ok(()),
            call => Err(Failure::Busy(call)),
        }
    }
    listen();
    fetch(&Calls::new()).await.unwrap();
    let heard = heard();
    assert_eq!(heard.len(), 3, "{heard:?}");
    for (event, [attempt, wait, waited, error]) in heard
        .iter()
        .zip([["1", "1000", "0", "busy at call 1"], ["2", "2000", "1000", "busy at call 2"]])
    {
        assert_eq!(event.level, Level::DEBUG);
        assert_eq!(event.message, "attempt failed, will be retried");
        assert_eq!(event.field("name"), Some("fetch"));
        assert_eq!(event.field("attempt"), Some(attempt));
        assert_eq!(event.field("attempts"), Some("5"));
        assert_eq!(event.field("wait_ms"), Some(wait));
        assert_eq!(event.field("waited_ms"), Some(waited));
        assert_eq!(event.field("error"), Some(error));
    }
    let recovered = &heard[2];
    assert_eq!((recovered.level, recovered.message.as_str()), (Level::INFO, "recovered"));
    assert_eq!(recovered.field("attempt"), Some("3"));
    assert_eq!(recovered.field("waited_ms"), Some("3000"));
}

#[tokio::test(start_paused = true)]
async fn a_success_at_once_says_nothing() {
    #[retry]
    async fn fetch() -> Result<(), Failure> {
        Ok(())
    }
    listen();
    fetch().await.unwrap();
    assert_eq!(heard(), []);
}

#[tokio::test(start_paused = true)]
async fn the_end_is_reported_with_its_reason() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(99));
    async fn last_event(retrier: Retrier) -> (Level, String, String, String) {
        listen();
        let error = retrier.run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err();
        let heard = heard();
        let last = heard.last().unwrap();
        assert_eq!(last.message, "gave up");
        assert_eq!(last.field("attempts"), Some(error.attempts().to_string().as_str()));
        assert_eq!(last.field("reason"), Some(error.reason().as_str()));
        let field = |name| last.field(name).unwrap().to_owned();
        (last.level, field("reason"), field("waited_ms"), field("error"))
    }
    let warned = |reason: &str, waited: &str, error: &str| {
        (Level::WARN, reason.to_owned(), waited.to_owned(), error.to_owned())
    };
    let policy = Policy::new();
    assert_eq!(last_event(Retrier::new(policy)).await, warned("attempts", "3000", "corrupt"));
    assert_eq!(
        last_event(Retrier::new(policy.budget(secs(2)))).await,
        warned("budget", "1000", "corrupt")
    );
    assert_eq!(
        last_event(Retrier::new(policy.deadline(secs(2)))).await,
        warned("deadline", "1000", "corrupt")
    );
    DB.force_open();
    assert_eq!(
        last_event(Retrier::new(policy).breaker(&DB)).await,
        warned("circuit_open", "0", "circuit breaker `db` is open until it is reset")
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_nobody_wanted_retried_is_no_warning() {
    #[retry(retry_on = [when(Failure::is_busy)])]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    listen();
    fetch().await.unwrap_err();
    let heard = heard();
    assert_eq!(heard.len(), 1);
    assert_eq!((heard[0].level, heard[0].field("reason")), (Level::DEBUG, Some("not_retryable")));
}

#[tokio::test(start_paused = true)]
async fn an_error_is_described_as_well_as_it_can_be() {
    #[derive(Debug)]
    struct OnlyDebug;
    struct Mute;
    #[retry(attempts = 1)]
    async fn debug() -> Result<(), OnlyDebug> {
        Err(OnlyDebug)
    }
    #[retry(attempts = 1)]
    async fn mute() -> Result<(), Mute> {
        Err(Mute)
    }
    #[retry(attempts = 1)]
    async fn missing() -> Option<()> {
        None
    }
    #[retry(attempts = 2, backoff = fixed, initial_delay = "0s", retry_on = [ok(|_: &u32| true)])]
    async fn value() -> u32 {
        7
    }
    listen();
    let _ = (debug().await, mute().await, missing().await, value().await);
    let errors: Vec<String> =
        heard().iter().map(|event| event.field("error").unwrap().to_owned()).collect();
    assert_eq!(errors[0], "OnlyDebug");
    assert!(errors[1].ends_with("::Mute"), "{}", errors[1]);
    assert_eq!(errors[2], "there is no value");
    assert_eq!(errors[3..], ["the value is one that is retried"; 2]);
}
