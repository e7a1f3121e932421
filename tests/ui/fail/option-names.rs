mod hedge_by_key_of_files {
    use retry_runtime::retry;

    #[retry(max_hedges = 3)]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod nested_unknown_word {
    use retry_runtime::retry;

    #[retry(nested = twice)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_delays {
    use retry_runtime::retry;

    #[retry(attempts = 3, delays = ["1s", "5s"])]
    async fn fetch() -> std::io::Result<()> {
        Ok(())
    }
}

mod option_from_elsewhere {
    use retry_runtime::retry;

    #[retry(max_attempts = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_max_retry_after_misspelt {
    use retry_runtime::retry;

    #[retry(max_retry_aftr = "10m")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_max_times {
    use retry_runtime::retry;

    #[retry(max_times = 3)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_of_the_breaker {
    use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, policy, retry};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[retry(attempts = 3, breaker = DB, failure_threshold = 8)]
    async fn fetch() -> std::io::Result<()> {
        Ok(())
    }

    const HTTP: Policy = policy!(attempts = 3, failure_rate = 0.5);

    // cured 5: breaker = DB, failure_threshold = 8 => {}
}

mod option_retries {
    use retry_runtime::retry;

    #[retry(retries = 4)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_retry_after_max {
    use retry_runtime::retry;

    #[retry(retry_after_max = 600)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // remains: a duration needs a unit
}

mod option_unknown {
    use retry_runtime::retry;

    #[retry(atempts = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(retries = 3, max_dealy = 10)]
    async fn without_unit() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(breaker(failure_threshold = 3, reset_timeout = 30))]
    async fn of_a_breaker() -> std::io::Result<u32> {
        Ok(7)
    }

    // remains: a duration needs a unit
}

mod option_unknown_unlike_any {
    use retry_runtime::retry;

    #[retry(wibble = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod unless_as_option {
    use std::io;

    use retry_runtime::retry;

    #[retry(unless = [timeout])]
    async fn fetch() -> io::Result<()> {
        Ok(())
    }
}

fn main() {}
