mod breaker_in_parentheses {
    use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[retry(breaker(DB))]
    async fn shared() -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    #[retry(breaker(BreakerConfig::new().failure_threshold(5)))]
    async fn by_its_settings() -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    struct Client {
        breaker: CircuitBreaker,
    }

    impl Client {
        #[retry(breaker(self.breaker))]
        async fn fetch(&self) -> Result<u32, RetryError<String>> {
            Ok(7)
        }
    }
}

mod breaker_missing_comma {
    use retry_runtime::retry;

    #[retry(breaker(failure_threshold = 5 timeout = "30s"))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_on_conflict {
    use retry_runtime::{BreakerConfig, CircuitBreaker, retry};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[retry(breaker = DB, breaker_on = [network, conflict])]
    async fn transfer() -> Result<(), std::io::Error> {
        Ok(())
    }
}

mod breaker_on_empty {
    use retry_runtime::retry;
    use retry_runtime::{BreakerConfig, CircuitBreaker};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[retry(breaker = DB, breaker_on = [])]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_on_without_breaker {
    use retry_runtime::retry;

    #[retry(breaker_on = [server_error])]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_settings_in_other_brackets {
    use std::io;

    use retry_runtime::retry;

    #[retry(breaker { failure_threshold = 5, timeout = "30s" })]
    async fn in_braces() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker[failure_threshold = 5])]
    async fn in_brackets() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker = { failure_threshold = 5, timeout = "30s" })]
    async fn assigned() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker = (failure_threshold = 5))]
    async fn assigned_in_parentheses() -> io::Result<u32> {
        Ok(7)
    }
}

mod breaker_unknown_setting {
    use retry_runtime::retry;

    #[retry(breaker(failure_treshold = 5))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_unknown_setting_from_elsewhere {
    use retry_runtime::retry;

    #[retry(breaker(reset_timeout = "30s"))]
    async fn fetch() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker(failure_threshold = 5, fallback_method = "cached"))]
    async fn load() -> std::io::Result<u32> {
        Ok(7)
    }
}

mod breaker_what_newcomers_write {
    //! A breaker without a value, and settings behind one that is shared.

    use retry_runtime::{BreakerConfig, CircuitBreaker, retry};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[derive(Debug)]
    pub enum Failure {
        Busy,
        Io(std::io::Error),
    }

    impl Failure {
        fn is_transient(&self) -> bool {
            matches!(self, Self::Busy | Self::Io(_))
        }
    }

    #[retry(breaker)]
    async fn fetch_0() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(breaker = DB(failure_threshold = 5))]
    async fn fetch_1() -> Result<u32, Failure> {
        Ok(1)
    }

    // remains: `timeout`, `deadline` and `breaker` can end a call
}

mod quota_in_place {
    use retry_runtime::retry;

    #[retry(quota(capacity = 500))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod when_open_fallback {
    use retry_runtime::{BreakerConfig, CircuitBreaker, retry};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[retry(attempts = 3, breaker = DB, when_open = fallback(|_| 0))]
    async fn load() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(attempts = 3, breaker = DB, when_open = continue)]
    async fn count() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod when_open_unknown {
    use retry_runtime::retry;

    #[retry(breaker(failure_threshold = 3), when_open = sleep)]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(breaker(failure_threshold = 3), when_open = "wait")]
    async fn quoted() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(breaker(half_open = "gradual"), on_failure = "continue")]
    async fn others() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod when_open_without_breaker {
    use retry_runtime::retry;

    #[retry(when_open = wait)]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_of_the_body {
    use std::sync::Arc;

    use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry};

    async fn get() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 4, breaker = db)]
    async fn of_each_call() -> Result<u32, RetryError<std::io::Error>> {
        let db = CircuitBreaker::new("db", BreakerConfig::new());
        get().await
    }

    #[retry(attempts = 4, quota = outbound.clone())]
    async fn of_each_attempt() -> Result<u32, std::io::Error> {
        let mut outbound = Arc::new(RetryQuota::new("outbound", QuotaConfig::new()));
        Ok(7)
    }
}

mod breaker_settings_in_braces {
    use retry_runtime::{RetryError, retry};

    #[retry(breaker { failure_threshold: 5, timeout: "5s" })]
    async fn fetch() -> Result<u32, RetryError<std::io::Error>> {
        Ok(7)
    }
}

mod breaker_settings_beside_it {
    use retry_runtime::{RetryError, retry};

    #[retry(breaker_timeout = "30s")]
    async fn prefixed() -> Result<u32, RetryError<std::io::Error>> {
        Ok(7)
    }

    #[retry(breaker(trip_after = 5, wibble = 3, ready_to_trip = is_bad, on_state_change = log))]
    async fn of_other_libraries() -> Result<u32, RetryError<std::io::Error>> {
        Ok(7)
    }
}

fn main() {}
