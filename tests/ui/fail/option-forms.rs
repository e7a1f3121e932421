mod nested_without_value {
    use retry_runtime::retry;

    #[retry(nested)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_colon {
    use retry_runtime::retry;

    #[retry(jitter: true)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_duplicate {
    use retry_runtime::retry;

    #[retry(attempts = 5, jitter, attempts = 4)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_in_another_form {
    use retry_runtime::retry;

    #[retry(3)]
    async fn without_a_name() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts == 3)]
    async fn compared() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 3,, jitter)]
    async fn two_commas() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(runtime(attempts = 3))]
    async fn inside_runtime() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(max_delay = "1m" * 2)]
    async fn computed() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(max_elapsed = none)]
    async fn without_a_bound() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = none)]
    async fn without_attempts() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(backoff = exponential.with_max_delay("3s"), attempts = 3)]
    async fn built() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(breaker(failure_rate = "95%"), when_open = wait("5s"))]
    async fn bounded_wait() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(attempts = 3, initial_delay = "1,5s", max_delay = "00:00:02")]
    async fn other_clocks() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(max_delay = "1,000ms")]
    async fn perhaps_a_thousand() -> Result<u32, String> {
        Ok(7)
    }

    // remains: a duration needs a unit
    // cured 38: exponential.with_max_delay("3s") => {}
}

mod option_missing_comma {
    use retry_runtime::retry;

    #[retry(attempts = 5 jitter)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_missing_equals {
    use retry_runtime::retry;

    #[retry(attempts 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_missing_value {
    use retry_runtime::retry;

    #[retry(attempts = , jitter)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_missing_value_at_end {
    use retry_runtime::retry;

    #[retry(attempts =)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_number_first {
    use retry_runtime::retry;

    #[retry(3)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(5u8)]
    async fn with_a_type() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(0)]
    async fn without_attempts() -> Result<u32, String> {
        Ok(7)
    }
}

mod option_string_first {
    use retry_runtime::retry;

    #[retry("5s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod options_separated_by_semicolons {
    // Options that are separated by `;`, with a wrong one behind it.

    use retry_runtime::retry;

    #[retry(attempts = 3; jitter; timeout = 2)]
    async fn fetch() -> Result<(), std::io::Error> {
        Ok(())
    }
}

mod units_in_names {
    //! A unit is part of the value.

    use std::io;

    use retry_runtime::retry;

    #[retry(initial_delay_ms = 200, timeout_secs = 2, max_wait_ms = WAIT)]
    async fn fetch() -> io::Result<u64> {
        Ok(7)
    }

    const WAIT: u64 = 5;

    // remains: mismatched types
}

mod values_in_quotes {
    //! Numbers and words that stand in quotes.

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

    #[retry(attempts = "5")]
    async fn fetch_0() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(backoff = "exponential")]
    async fn fetch_1() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(backoff = "linear(increment = \"2s\")")]
    async fn fetch_2() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(jitter = "30%")]
    async fn fetch_3() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(attempts = "2.5")]
    async fn fetch_5() -> Result<u32, Failure> {
        Ok(1)
    }
}

mod values_of_other_forms {
    //! Values in the form that another language, or another option, would want.

    use retry_runtime::retry;

    #[retry(attempts: 3, jitter = 0.0..0.5, retry_on = [500, 429, 501, "network", "busy"])]
    async fn fetch() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(initial_delay: "1s", budget = "5m")]
    async fn colon() -> std::io::Result<u32> {
        Ok(7)
    }
}

mod context_with_a_type {
    use retry_runtime::retry;

    #[retry(context = cx: &retry_runtime::Attempt)]
    async fn fetch() -> Result<u32, String> {
        Ok(cx.number())
    }

    // cured 4: context = cx: &retry_runtime::Attempt => {}
}

fn main() {}
