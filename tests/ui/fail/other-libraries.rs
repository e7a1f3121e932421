mod callbacks_as_of_other_crates {
    use std::io;

    use retry_runtime::retry;

    #[retry(on_retry = |error, wait| eprintln!("{error} {wait:?}"))]
    async fn notify() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(on_failure = default)]
    async fn zero() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(on_failure = fallback(0))]
    async fn literal() -> io::Result<u32> {
        Ok(7)
    }
}

mod names_of_other_libraries {
    //! Settings of backon, Polly, resilience4j, p-retry and tenacity, and what is written here in place
    //! of them.

    use retry_runtime::retry;

    #[retry(with_max_times(4), MaxRetryAttempts = 3, retry = 5)]
    async fn counts() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(stop = stop_after_attempt(3), wait = wait_fixed(2), reraise = true)]
    async fn tenacity() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(minTimeout = 1_000, maxTimeout = 30_000, randomize = true, factor = 1.5)]
    async fn p_retry() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(BackoffType = DelayBackoffType::Exponential, UseJitter = true, Delay = "2s")]
    async fn polly() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(ignore_exceptions = [Failure::Fatal], fallback_method = cached, notify = |a, b| log(a, b), attempts = 0)]
    async fn closures() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker(failure_rate_threshold = 50, sliding_window_size = 20, breakDuration = "30s"))]
    async fn breakers() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(fallback_method = "recover", retry_if = "is_busy")]
    async fn values() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(condition = when(is_busy), recover = recovered)]
    async fn functions() -> std::io::Result<u32> {
        Ok(7)
    }

    // remains: `Failure::Fatal` is not a matcher
    // remains: `attempts = 1` never retries
    // remains: unknown jitter
    // remains: a duration needs a unit
    // remains: cannot find
    // remains: `on_retry` takes a function of other arguments
}

mod option_of_another_library_misspelt {
    // Options of other libraries, misspelt.

    use retry_runtime::retry;

    #[retry(max_retires = 4, initialintervall = "1s")]
    async fn fetch() -> Result<(), std::io::Error> {
        Ok(())
    }
}

mod options_of_tenacity {
    use std::io;

    use retry_runtime::retry;

    #[retry(reraise = true)]
    async fn fetch() -> io::Result<()> {
        Ok(())
    }

    #[retry(reset_after = "1m")]
    async fn listen() -> io::Result<()> {
        Ok(())
    }
}

mod words_of_other_libraries {
    //! Words that other libraries have for options, curves and counts.

    use retry_runtime::retry;

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

    #[retry(stop_after_attempt = 3)]
    async fn fetch_0() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(wait_fixed = "2s")]
    async fn fetch_1() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(sleep = "2s")]
    async fn fetch_2() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(total_delay = "2m")]
    async fn fetch_3() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(max_elapsed_time = "2m")]
    async fn fetch_4() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(on_error = |_| ())]
    async fn fetch_5() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(backoff = constant)]
    async fn fetch_6() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(attempts = forever)]
    async fn fetch_7() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(exponential(base = 2.0))]
    async fn fetch_8() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(rate_limit = 5)]
    async fn fetch_9() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(network, attempts = 3)]
    async fn fetch_10() -> Result<u32, Failure> {
        Ok(1)
    }

    // remains: `attempts = unlimited` never ends on its own
    // remains: `Failure` reveals nothing about itself
}

fn main() {}
