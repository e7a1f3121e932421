mod breaker_settings {
    //! Settings of failsafe, Polly and resilience4j.
    use std::time::Duration;

    use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota};

    const WINDOW: BreakerConfig = BreakerConfig::new().sliding_window_size(100);
    const RATE: BreakerConfig = BreakerConfig::new().failure_rate_threshold(50.0);
    const OPEN: BreakerConfig = BreakerConfig::new().reset_timeout(Duration::from_secs(5));
    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new().max_failures(3));
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new().max_tokens(100));
    static SET: CircuitBreaker = CircuitBreaker::new("set").failure_threshold(5);

    // cured 6: sliding_window_size(100) => {}
    // cured 7: failure_rate_threshold(50.0) => {}
    // cured 8: reset_timeout(Duration::from_secs(5)) => {}
    // cured 9: max_failures(3) => {}
    // cured 10: max_tokens(100) => {}
    // cured 11: by hand
    // remains: this function takes 2 arguments
    // remains: the settings come first
}

mod breaker_calls {
    use std::io;

    use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker, State};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 100);

    async fn query(key: &str) -> io::Result<u64> {
        if !DB.is_call_permitted() {
            return Ok(0);
        }
        let closure = || async { Ok::<_, io::Error>(7) };
        let rows = DB.execute(closure).await?;
        DB.on_success();
        let listener = |transition: &retry_runtime::Transition| println!("{:?}", transition.to);
        DB.on_state_change(listener);
        let host = HOSTS.get(key);
        DB.trip();
        let is_closed = DB.is_closed();
        let is_open = DB.state().is_open();
        Ok(rows + DB.metrics().failures + u64::from(host.is_open() || is_open || is_closed))
    }

    // cured 9/1: !DB.is_call_permitted() => DB.{}.is_err()
    // cured 9/2: by hand
    // cured 13: by hand
    // cured 14: by hand
    // cured 16: on_state_change(listener) => {}
    // cured 17: get(key) => {}
    // cured 18: trip() => {}
    // cured 19: DB.is_closed() => DB.{}
    // cured 20: DB.state().is_open() => {}
    // cured 21: DB.metrics() => DB.{}
    // remains: write `call(closure)`
    // remains: a permit reports the outcome
    // remains: write `try_acquire()`
}

mod retriers {
    use std::time::Duration;

    use retry_runtime::{Jitter, Policy, Reason, Retrier, RetryError, retry};

    #[retry(context = cx, on_retry = |event| println!("{:?}", event.delay()))]
    async fn fetch() -> Result<u32, RetryError<std::io::Error>> {
        Ok(cx.attempt())
    }

    async fn calls() {
        let policy = Policy::new().max_retries(3);
        let _ = Policy::new().base_delay(Duration::from_secs(1));
        let _ = Policy::new().with_jitter();
        let closure = || async { Err::<u32, _>("busy") };
        let value = Retrier::new(policy).execute(closure).await;
        let _ = Retrier::new(Policy::new()).max_attempts(3);
        let error = fetch().await.unwrap_err();
        if error.reason() == Reason::CircuitOpen {
            println!("{:?} {value:?}", error.into_inner());
        }
    }

    // cured 5: delay() => {}
    // cured 7: attempt() => {}
    // cured 11: max_retries(3) => {}
    // cured 12: base_delay(Duration::from_secs(1)) => {}
    // cured 13: with_jitter() => {}
    // cured 15/1: execute(closure).await => {}
    // cured 15/2: by hand
    // cured 16: by hand
    // cured 19: into_inner() => {}
    // remains: write `run(closure).await`
    // remains: the policy has the numbers
}

fn main() {}
