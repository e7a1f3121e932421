//! `breaker`: asked before each attempt, informed of each outcome. The breaker itself is tested in
//! `parts`.

use std::panic::AssertUnwindSafe;

use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, Interrupted, Policy, Reason, Retrier, RetryError,
    State, retry,
};
use tokio::time::{Instant, advance, sleep};

use crate::support::{Calls, Failure, secs};

const FRAGILE: BreakerConfig = BreakerConfig::new().failure_threshold(2);

#[tokio::test(start_paused = true)]
async fn an_open_breaker_ends_the_call_at_once_with_the_last_error() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(attempts = 9, breaker = DB)]
    async fn query(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = query(&calls).await.unwrap_err();
    assert_eq!((calls.made(), start.elapsed()), (2, secs(1)), "without the second wait");
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 2));
    assert_eq!(error.last(), Some(&Failure::Busy(2)), "the last error is kept");
}

#[tokio::test(start_paused = true)]
async fn while_it_is_open_no_call_is_made() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(breaker = DB)]
    async fn plain(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(breaker = DB)]
    async fn with_reason(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    DB.force_open();
    let calls = Calls::new();
    let error = plain(&calls).await.unwrap_err();
    assert!(
        matches!(&error, Failure::Interrupted(Interrupted::CircuitOpen { breaker, .. }) if breaker == "db"),
        "{error:?}"
    );
    let error = with_reason(&calls).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
    assert!(error.interrupted().is_some());
    let error = Retrier::new(Policy::new())
        .breaker(&DB)
        .run(|| {
            calls.make();
            async { Err::<(), _>("down") }
        })
        .await
        .unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
    assert_eq!(calls.made(), 0);
}

#[tokio::test(start_paused = true)]
async fn while_others_probe_a_failed_call_gives_up_without_sleeping_first() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE.half_open_requests(1));
    #[retry(attempts = 3, breaker = DB)]
    async fn query() -> Result<(), RetryError<Failure>> {
        sleep(secs(60)).await;
        Err(Failure::Busy(1))
    }
    let start = Instant::now();
    let probing = async {
        sleep(secs(1)).await;
        for _ in 0..2 {
            DB.try_acquire().unwrap().failure();
        }
        sleep(secs(40)).await;
        let probe = DB.try_acquire().unwrap();
        sleep(secs(25)).await;
        probe.success();
    };
    let (error, ()) = tokio::join!(
        async {
            let error = query().await.unwrap_err();
            assert_eq!(start.elapsed(), secs(60));
            error
        },
        probing
    );
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 1));
    let told = DB.snapshot();
    assert_eq!(told.outcomes.rejected, 0, "it did not even ask");
}

#[tokio::test(start_paused = true)]
async fn each_host_has_one_of_its_own_in_a_family() {
    static HOSTS: Breakers<String> = Breakers::new("hosts", FRAGILE, 100);
    #[retry(attempts = 2, breaker = HOSTS.of(host))]
    async fn get(host: &str) -> Result<(), RetryError<Failure>> {
        if host == "up" { Ok(()) } else { Err(Failure::Busy(1)) }
    }
    struct Client {
        hosts: Breakers<String>,
    }
    impl Client {
        #[retry(attempts = 2, breaker = self.hosts.of(&host))]
        async fn get(&self, host: String) -> Result<(), RetryError<Failure>> {
            get(&host).await.map_err(|_| Failure::Busy(1))
        }
    }
    assert!(get("down").await.is_err());
    assert_eq!(get("down").await.unwrap_err().attempts(), 0, "not asked any more");
    get("up").await.unwrap();
    assert_eq!(HOSTS.of("down").state(), State::Open);
    assert_eq!(HOSTS.of("up").state(), State::Closed);

    let client = Client { hosts: Breakers::try_new("mine", FRAGILE, 100).unwrap() };
    assert!(client.get("down".to_owned()).await.is_err());
    assert!(client.hosts.of("down").is_open());
    client.get("up".to_owned()).await.unwrap();

    let retrier = Retrier::new(Policy::new().attempts(2)).breaker(HOSTS.of("shard"));
    assert!(retrier.run(async || Err::<(), _>("down")).await.is_err());
    assert!(HOSTS.of("shard").is_open());
}

#[tokio::test(start_paused = true)]
async fn an_event_has_the_error_that_opened_the_breaker() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(attempts = 2, breaker = DB)]
    async fn query() -> Result<(), std::io::Error> {
        Err(std::io::Error::other("no route to the shard"))
    }
    assert!(query().await.is_err());
    assert_eq!(DB.snapshot().opened_by.as_deref(), Some("no route to the shard"));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_after_the_wait_keeps_the_last_real_error() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    #[retry(attempts = 9, breaker = DB)]
    async fn plain(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 9, breaker = DB)]
    async fn with_reason(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    /// Failures elsewhere open it while the call waits.
    async fn open_soon() {
        sleep(secs(2)).await;
        DB.force_open();
    }
    let calls = Calls::new();
    let (error, ()) = tokio::join!(plain(&calls), open_soon());
    assert_eq!(error, Err(Failure::Busy(2)));

    DB.reset();
    let calls = Calls::new();
    let (error, ()) = tokio::join!(with_reason(&calls), open_soon());
    let error = error.unwrap_err();
    assert_eq!(error.last(), Some(&Failure::Busy(2)));
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 2));

    DB.reset();
    let calls = Calls::new();
    let retrier = Retrier::new(Policy::new().attempts(9)).breaker(&DB);
    let run = retrier.run(|| {
        let call = calls.make();
        async move { Err::<(), _>(Failure::Busy(call)) }
    });
    let (error, ()) = tokio::join!(run, open_soon());
    let error = error.unwrap_err();
    assert_eq!(error.last(), Some(&Failure::Busy(2)));
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 2));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_not_retryable_does_not_open_the_breaker() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(attempts = 1, breaker = DB, abort_on = [matches(Failure::Corrupt)])]
    async fn query(error: Failure) -> Result<(), Failure> {
        Err(error.clone())
    }
    for _ in 0..9 {
        query(Failure::Corrupt).await.unwrap_err();
    }
    assert_eq!(DB.state(), State::Closed);
    assert_eq!(DB.snapshot().consecutive_failures, 0);
    for _ in 0..2 {
        query(Failure::Busy(0)).await.unwrap_err();
    }
    assert_eq!(DB.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn the_breaker_records_successes() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(breaker = DB)]
    async fn query(calls: &Calls) -> Result<(), Failure> {
        match calls.make() {
            1 => Err(Failure::Busy(1)),
            _ => Ok(()),
        }
    }
    for _ in 0..9 {
        query(&Calls::new()).await.unwrap();
    }
    assert_eq!(DB.snapshot().consecutive_failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_trips_it() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(attempts = 2, timeout = "1s", breaker = DB)]
    async fn query() -> Result<(), Failure> {
        sleep(secs(60)).await;
        Ok(())
    }
    query().await.unwrap_err();
    assert_eq!(DB.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_tried_again_is_a_success() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(attempts = 4, breaker = DB, retry_on = [ok(|ready: &bool| !ready)])]
    async fn is_ready() -> Result<bool, Failure> {
        Ok(false)
    }
    DB.try_acquire().unwrap().failure();
    assert_eq!(is_ready().await, Ok(false));
    assert_eq!(DB.snapshot().consecutive_failures, 0);
    DB.try_acquire().unwrap().failure();
    let retrier =
        Retrier::new(Policy::new().attempts(4)).retry_on_value(|ready: &bool| !ready).breaker(&DB);
    assert!(!retrier.run(async || Ok::<_, Failure>(false)).await.unwrap());
    assert_eq!(DB.snapshot().consecutive_failures, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_retried_closes_it_and_ends_a_streak() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE.success_threshold(1));
    #[retry(breaker = DB, retry_on = [when(Failure::is_busy)])]
    async fn find() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let retrier = Retrier::new(Policy::new()).when(|error: &Failure| error.is_busy()).breaker(&DB);
    for by_hand in [false, true] {
        let find = async || {
            if by_hand {
                retrier.run(async || Err::<(), _>(Failure::Corrupt)).await.unwrap_err();
            } else {
                find().await.unwrap_err();
            }
        };
        DB.try_acquire().unwrap().failure();
        find().await;
        assert_eq!(DB.snapshot().consecutive_failures, 0);
        for _ in 0..2 {
            DB.try_acquire().unwrap().failure();
        }
        advance(secs(30)).await;
        find().await;
        assert_eq!(DB.state(), State::Closed, "a server that says 404 works");
    }
}

#[tokio::test(start_paused = true)]
async fn the_policys_timeout_always_counts_and_its_deadline_never() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    #[retry(breaker = DB, timeout = "1s", retry_on = [rate_limit])]
    async fn hangs() -> Result<(), RetryError<Failure>> {
        std::future::pending().await
    }
    #[retry(breaker = DB, deadline = "3s")]
    async fn is_late() -> Result<(), RetryError<Failure>> {
        std::future::pending().await
    }
    #[retry(breaker = DB, timeout = "3s", deadline = "3s")]
    async fn is_both() -> Result<(), RetryError<Failure>> {
        std::future::pending().await
    }
    assert_eq!(hangs().await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(DB.snapshot().consecutive_failures, 1, "a server that hangs");
    assert_eq!(is_late().await.unwrap_err().reason(), Reason::Deadline);
    let snapshot = DB.snapshot();
    assert_eq!((snapshot.consecutive_failures, snapshot.outcomes.forgiven), (1, 1));
    assert_eq!(is_both().await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!(DB.snapshot().consecutive_failures, 2, "where both end at once it is the timeout");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_counts_as_a_failure() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(breaker = DB)]
    async fn query() -> Result<(), Failure> {
        panic!("a bug in the body");
    }
    #[retry(breaker = DB)]
    fn query_now() -> Result<(), Failure> {
        panic!("a bug in the body");
    }
    assert!(tokio::spawn(query()).await.unwrap_err().is_panic());
    assert_eq!(DB.snapshot().consecutive_failures, 1);
    assert!(std::panic::catch_unwind(AssertUnwindSafe(query_now)).is_err());
    assert_eq!(DB.state(), State::Open);
    advance(secs(30)).await;
    assert!(tokio::spawn(query()).await.unwrap_err().is_panic());
    assert_eq!((DB.state(), DB.snapshot().probes), (State::Open, 0), "the probe's place is free");
}

#[tokio::test(start_paused = true)]
async fn in_place_it_is_shared_by_the_calls_of_the_function() {
    #[retry(attempts = 1, breaker(failure_threshold = 2, timeout = "10s", success_threshold = 1))]
    async fn query(calls: &Calls, works: bool) -> Result<(), RetryError<Failure>> {
        let call = calls.make();
        if works { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    let calls = Calls::new();
    for _ in 0..2 {
        assert_eq!(query(&calls, false).await.unwrap_err().reason(), Reason::Attempts);
    }
    let error = query(&calls, true).await.unwrap_err();
    assert_eq!((error.reason(), calls.made()), (Reason::CircuitOpen, 2));
    let named = "circuit breaker `behaviour::breaker::query` is open for another 10s";
    assert!(format!("{error:#}").ends_with(named), "it has the function's name: {error:#}");
    advance(secs(10)).await;
    query(&calls, true).await.unwrap();
    query(&calls, true).await.unwrap();
}

#[test]
fn a_sync_function_consults_the_breaker() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(attempts = 9, backoff = fixed, initial_delay = "1ms", breaker = DB)]
    fn query(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    assert_eq!(query(&calls), Err(Failure::Busy(2)));
    assert!(matches!(query(&calls), Err(Failure::Interrupted(_))));
    assert_eq!(calls.made(), 2);
}
