//! Events of a call through `tracing`, under the target `retry`.

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Policy, QuotaConfig, Retrier, RetryError, RetryQuota,
    retry,
};
use tracing::Level;

use crate::support::{Calls, Failure, Recorded, listen, secs, take_events};

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
    let heard = take_events();
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
async fn the_cause_of_a_retry_error_and_of_an_erased_one_is_reported_with_it() {
    #[retry(attempts = 1, name = "outer")]
    async fn outer(error: RetryError<String>) -> Result<(), RetryError<RetryError<String>>> {
        Err(error.clone())
    }
    #[retry(attempts = 1, name = "erased")]
    async fn erased() -> anyhow::Result<()> {
        Err(anyhow::anyhow!("no disk").context("no table"))
    }
    let inner = Retrier::new(Policy::new().attempts(1)).name("inner");
    let inner = inner.run(|| async { Err::<(), _>("no route".to_owned()) }).await.unwrap_err();
    listen();
    outer(inner).await.unwrap_err();
    erased().await.unwrap_err();
    let errors: Vec<_> =
        take_events().iter().map(|event| event.field("error").unwrap().to_owned()).collect();
    assert_eq!(
        errors,
        ["gave up after 1 attempt (all attempts were used): no route", "no table: no disk"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_immediate_success_emits_no_events() {
    #[retry]
    async fn fetch() -> Result<(), Failure> {
        Ok(())
    }
    listen();
    fetch().await.unwrap();
    assert_eq!(take_events(), []);
}

#[tokio::test(start_paused = true)]
async fn the_end_is_reported_with_its_reason() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(99));
    async fn last_event(retrier: Retrier) -> (Level, String, String, String) {
        listen();
        let error = retrier.run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err();
        let heard = take_events();
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
async fn a_failure_that_is_not_retryable_is_not_a_warning() {
    #[retry(retry_on = [when(Failure::is_busy)])]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    listen();
    fetch().await.unwrap_err();
    let heard = take_events();
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
        take_events().iter().map(|event| event.field("error").unwrap().to_owned()).collect();
    assert_eq!(errors[0], "OnlyDebug");
    assert!(errors[1].ends_with("::Mute"), "{}", errors[1]);
    assert_eq!(errors[2], "there is no value");
    assert_eq!(errors[3..], ["the value is one that is retried"; 2]);
}

fn line(level: Level, message: &str, fields: &[(&'static str, &str)]) -> Recorded {
    let fields = fields.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    Recorded { level, message: message.to_owned(), fields }
}

/// The levels, messages, names and order of the fields, on which people have built filters.
#[tokio::test(start_paused = true)]
async fn every_event_of_a_call_has_these_fields_and_no_others() {
    #[retry(attempts = 3, name = "events.fetch")]
    async fn fetch(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    let retry = |attempt, wait, waited, error| {
        let fields = [
            ("name", "events.fetch"),
            ("attempt", attempt),
            ("attempts", "3"),
            ("wait_ms", wait),
            ("waited_ms", waited),
            ("error", error),
        ];
        line(Level::DEBUG, "attempt failed, will be retried", &fields)
    };
    listen();
    fetch(&Calls::new(), 2).await.unwrap();
    let recovered = [("name", "events.fetch"), ("attempt", "2"), ("waited_ms", "1000")];
    assert_eq!(
        take_events(),
        [retry("1", "1000", "0", "busy at call 1"), line(Level::INFO, "recovered", &recovered)]
    );
    fetch(&Calls::new(), 0).await.unwrap_err();
    let gave_up = [
        ("name", "events.fetch"),
        ("attempts", "3"),
        ("waited_ms", "3000"),
        ("reason", "attempts"),
        ("error", "busy at call 3"),
    ];
    assert_eq!(
        take_events(),
        [
            retry("1", "1000", "0", "busy at call 1"),
            retry("2", "2000", "1000", "busy at call 2"),
            line(Level::WARN, "gave up", &gave_up),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn unlimited_attempts_are_not_a_number_in_events() {
    #[retry(attempts = unlimited, budget = "1s", name = "events.unlimited")]
    async fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    listen();
    fetch().await.unwrap_err();
    let heard = take_events();
    assert_eq!(heard[0].field("attempts"), None);
    assert_eq!(heard[1].field("reason"), Some("budget"));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_emits_each_transition() {
    static DB: CircuitBreaker = CircuitBreaker::new(
        "events.db",
        BreakerConfig::new().failure_threshold(1).success_threshold(1),
    );
    let moved = |from, to, cause| {
        let fields = [("breaker", "events.db"), ("from", from), ("to", to), ("cause", cause)];
        // Closing again is good news.
        let level = if to == "closed" { Level::INFO } else { Level::WARN };
        line(level, "circuit breaker changed state", &fields)
    };
    listen();
    DB.try_acquire().unwrap().failure();
    tokio::time::advance(secs(30)).await;
    DB.try_acquire().unwrap().failure();
    tokio::time::advance(secs(30)).await;
    DB.try_acquire().unwrap().success();
    DB.force_open();
    DB.reset();
    assert_eq!(
        take_events(),
        [
            moved("closed", "open", "failures"),
            moved("open", "half_open", "time_up"),
            moved("half_open", "open", "probe_failed"),
            moved("open", "half_open", "time_up"),
            moved("half_open", "closed", "recovered"),
            moved("closed", "open", "forced"),
            moved("open", "closed", "reset"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_reported_with_its_length() {
    const HOLDING: BreakerConfig = BreakerConfig::new().hold(secs(60));
    static API: CircuitBreaker = CircuitBreaker::new("events.held", HOLDING);
    static OBSERVED: CircuitBreaker =
        CircuitBreaker::new("events.held_observed", HOLDING.observe_only());
    listen();
    API.hold(secs(30));
    API.hold(secs(30));
    OBSERVED.hold(secs(90));
    let held = |fields: &[_]| line(Level::INFO, "circuit breaker holds all calls", fields);
    let observed =
        [("breaker", "events.held_observed"), ("held_ms", "60000"), ("observe_only", "true")];
    let expected = [held(&[("breaker", "events.held"), ("held_ms", "30000")]), held(&observed)];
    assert_eq!(take_events(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_call_ends_after_zero_attempts() {
    static DB: CircuitBreaker = CircuitBreaker::new("events.shut", BreakerConfig::new());
    #[retry(breaker = DB, name = "events.rejected")]
    async fn query() -> Result<(), Failure> {
        Ok(())
    }
    DB.force_open();
    listen();
    query().await.unwrap_err();
    let fields = [
        ("name", "events.rejected"),
        ("attempts", "0"),
        ("waited_ms", "0"),
        ("reason", "circuit_open"),
        ("error", "circuit breaker `events.shut` is open until it is reset"),
    ];
    assert_eq!(take_events(), [line(Level::WARN, "gave up", &fields)]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_quota_is_reported_again_only_after_it_was_half_full() {
    static OUT: RetryQuota = RetryQuota::new("events.out", QuotaConfig::new().capacity(20));
    let empty = || {
        let heard: Vec<_> =
            take_events().into_iter().filter(|e| e.field("quota").is_some()).collect();
        let told = [("quota", "events.out")];
        let line = line(Level::WARN, "quota empty, failed calls are not retried", &told);
        assert!(heard.iter().all(|event| *event == line), "{heard:?}");
        heard.len()
    };
    #[retry(attempts = 9, quota = OUT)]
    async fn send() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    listen();
    send().await.unwrap_err();
    assert_eq!((OUT.available(), empty()), (0, 1));
    send().await.unwrap_err();
    send().await.unwrap_err();
    assert_eq!(empty(), 0, "it is still the same emptiness");
    // 9 of 20 tokens: enough for a retry, but not half full.
    OUT.release(9);
    send().await.unwrap_err();
    assert_eq!((OUT.available(), empty()), (4, 0));
    OUT.release(6);
    assert_eq!(empty(), 0, "to be half full again is no news");
    send().await.unwrap_err();
    assert_eq!((OUT.available(), empty()), (0, 1));
}

#[test]
fn a_tiny_quota_is_not_reported_empty_at_each_success() {
    let tiny = QuotaConfig::new().capacity(5).retry_cost(5).timeout_cost(5);
    let tiny = RetryQuota::new("events.tiny", tiny);
    listen();
    assert!(tiny.try_acquire(Class::empty()).is_some());
    for _ in 0..4 {
        assert!(tiny.try_acquire(Class::empty()).is_none());
        tiny.refund();
    }
    let told =
        take_events().into_iter().filter(|event| event.field("quota") == Some("events.tiny"));
    assert_eq!(told.count(), 1);
}

#[test]
fn a_sync_function_that_blocks_tasks_is_reported_with_the_wait() {
    #[retry(attempts = 2, initial_delay = "1ms", name = "events.stalls")]
    fn stalls() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    listen();
    runtime.block_on(async { stalls().unwrap_err() });
    let warnings: Vec<_> =
        take_events().into_iter().filter(|event| event.level == Level::WARN).collect();
    let fields = [("name", "events.stalls"), ("wait_ms", "1")];
    let message = "sleeps on a thread that drives async tasks, which stalls them: \
                   make the function async, or call it through `spawn_blocking`";
    assert_eq!(warnings[0], line(Level::WARN, message, &fields));
}
