//! `quota`: pays for retries. The quota itself is tested in `parts`.

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Policy, QuotaConfig, Reason, Retrier, RetryError,
    RetryQuota, retry,
};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, secs};

const SMALL: QuotaConfig = QuotaConfig::new().capacity(10);

#[tokio::test(start_paused = true)]
async fn an_empty_quota_ends_the_call_at_once() {
    static OUT: RetryQuota = RetryQuota::new("out", SMALL);
    #[retry(attempts = 9, quota = OUT)]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.reason()), (3, Reason::Quota));
    assert_eq!(start.elapsed(), secs(3), "without the third wait");
    assert_eq!(error.last(), Some(&Failure::Busy(3)));
    assert_eq!(OUT.available(), 0);
    // First attempts are not limited.
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.reason()), (4, Reason::Quota));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_succeeds_is_paid_back_and_a_first_success_refunds_a_little() {
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new().capacity(100));
    #[retry(attempts = 4, quota = OUT)]
    async fn fetch(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    fetch(&Calls::new(), 2).await.unwrap();
    assert_eq!(OUT.available(), 100);
    fetch(&Calls::new(), 4).await.unwrap();
    assert_eq!(OUT.available(), 90, "the retries that failed stay paid");
    fetch(&Calls::new(), 1).await.unwrap();
    assert_eq!(OUT.available(), 91);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_costs_more() {
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new().capacity(100));
    #[retry(attempts = 2, timeout = "1s", quota = OUT)]
    async fn fetch() -> Result<(), Failure> {
        sleep(secs(60)).await;
        Ok(())
    }
    fetch().await.unwrap_err();
    assert_eq!(OUT.available(), 90);
}

#[tokio::test(start_paused = true)]
async fn it_is_not_charged_where_something_else_ends_the_call() {
    static OUT: RetryQuota = RetryQuota::new("out", SMALL);
    #[retry(quota = OUT, abort_on = [matches(Failure::Corrupt)])]
    async fn final_failure() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, quota = OUT)]
    async fn last_attempt() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(budget = "1s", quota = OUT, backoff = fixed, retry_after = Failure::wait)]
    async fn over_budget() -> Result<(), RetryError<Failure>> {
        Err(Failure::SlowDown(secs(2)))
    }
    #[retry(deadline = "2s", quota = OUT, retry_after = Failure::wait)]
    async fn over_deadline() -> Result<(), RetryError<Failure>> {
        Err(Failure::SlowDown(secs(2)))
    }
    final_failure().await.unwrap_err();
    assert_eq!(over_budget().await.unwrap_err().reason(), Reason::Budget);
    assert_eq!(over_deadline().await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!(OUT.available(), 10);
    last_attempt().await.unwrap_err();
    assert_eq!(OUT.available(), 5, "the one retry, and not the last attempt");
}

#[tokio::test(start_paused = true)]
async fn it_is_given_back_when_the_breaker_is_open() {
    static OUT: RetryQuota = RetryQuota::new("out", SMALL);
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    #[retry(quota = OUT, breaker = DB)]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::CircuitOpen);
    assert_eq!(OUT.available(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_quota_is_checked_before_the_breaker() {
    static OUT: RetryQuota = RetryQuota::new("out", SMALL);
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    #[retry(quota = OUT, breaker = DB)]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    while OUT.try_acquire(Class::empty()).is_some() {}
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::Quota);
}

#[tokio::test(start_paused = true)]
async fn it_is_given_back_when_the_breaker_rejects_the_retry_after_the_wait() {
    static OUT: RetryQuota = RetryQuota::new("out", SMALL);
    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    #[retry(quota = OUT, breaker = DB)]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    let open_soon = async {
        sleep(secs(1) / 2).await;
        DB.force_open();
    };
    let (error, ()) = tokio::join!(fetch(), open_soon);
    assert_eq!(error.unwrap_err().reason(), Reason::CircuitOpen);
    assert_eq!(OUT.available(), 10, "the retry was not made");

    DB.reset();
    let open_soon = async {
        sleep(secs(1) / 2).await;
        DB.force_open();
    };
    let retrier = Retrier::new(Policy::new()).quota(&OUT).breaker(&DB);
    let (error, ()) = tokio::join!(retrier.run(|| async { Err::<(), _>("down") }), open_soon);
    assert_eq!(error.unwrap_err().reason(), Reason::CircuitOpen);
    assert_eq!(OUT.available(), 10, "the retry was not made");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_a_timeout_costs_more_whatever_the_function_returns() {
    static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

    #[retry(attempts = 2, timeout = "1s", quota = OUTBOUND)]
    async fn nothing() -> Option<u32> {
        std::future::pending().await
    }

    assert_eq!(nothing().await, None);
    assert_eq!(OUTBOUND.available(), 490);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_returns_its_tokens() {
    static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

    #[retry(quota = OUTBOUND)]
    async fn fails() -> Result<u32, Failure> {
        Err(Failure::Corrupt)
    }

    for _ in 0..3 {
        let cut = tokio::time::timeout(std::time::Duration::from_millis(10), fails()).await;
        assert!(cut.is_err());
        assert_eq!(OUTBOUND.available(), 500);
    }
    // A call that is not cancelled pays: two retries, and both fail.
    fails().await.unwrap_err();
    assert_eq!(OUTBOUND.available(), 490);
}

#[tokio::test(start_paused = true)]
async fn tokens_survive_a_panic_of_a_listener() {
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new());
    #[retry(quota = OUT, on_retry = |_| panic!("on purpose"))]
    async fn listened() -> Result<(), Failure> {
        Err(Failure::Busy(1))
    }
    #[retry(quota = OUT, on_retry = |_| panic!("on purpose"))]
    fn listened_now() -> Result<(), Failure> {
        Err(Failure::Busy(1))
    }
    #[retry(quota = OUT, on_retry = |_| ())]
    async fn heard() -> Result<(), Failure> {
        Err(Failure::Busy(1))
    }
    assert!(tokio::spawn(listened()).await.unwrap_err().is_panic());
    assert_eq!(OUT.available(), 500, "the retry was never made");
    assert!(std::panic::catch_unwind(listened_now).is_err());
    assert_eq!(OUT.available(), 500);
    assert!(heard().await.is_err());
    assert_eq!(OUT.available(), 490, "and what was made is paid for");
}
