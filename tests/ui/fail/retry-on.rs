mod retry_on_bare_function {
    use retry_runtime::retry;

    #[retry(retry_on = [is_transient])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    fn is_transient(error: &String) -> bool {
        error.is_empty()
    }
}

mod retry_on_bare_variant {
    use retry_runtime::retry;

    enum DbError {
        Busy,
    }

    #[retry(retry_on = [DbError::Busy])]
    async fn fetch() -> Result<u32, DbError> {
        Ok(7)
    }
}

mod retry_on_class_as_a_type {
    use retry_runtime::retry;

    #[retry(retry_on = [Transient, ServerError])]
    async fn capital() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(retry_on = [Class::NETWORK, retry_runtime::Class::RATE_LIMIT])]
    async fn constants() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(retry_on = [ApiError::Timeout])]
    async fn variant() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    // remains: cannot find type `ApiError`
    // remains: `server_error` is part of `transient`
}

mod retry_on_class_of_option {
    use retry_runtime::retry;

    #[retry(retry_on = [network])]
    async fn fetch() -> Option<u32> {
        Some(7)
    }
}

mod retry_on_class_with_arguments {
    use retry_runtime::retry;

    #[retry(retry_on = [network()])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_closure {
    use retry_runtime::retry;

    #[retry(retry_on = [|error: &String| error.is_empty()])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_error_kind {
    use std::io;

    use retry_runtime::retry;

    #[retry(retry_on = [io::ErrorKind::TimedOut, std::io::ErrorKind::NotFound])]
    async fn fetch() -> io::Result<()> {
        Ok(())
    }
}

mod retry_on_failures_without_kind {
    use std::io;

    use retry_runtime::retry;

    #[retry(retry_on = [client_error])]
    async fn of_the_client() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(abort_on = [permanent])]
    async fn permanent() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [!permanent])]
    async fn not_permanent() -> io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_in_another_form {
    use retry_runtime::retry;

    #[retry(retry_on = { network, timeout })]
    async fn in_braces() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [retry_runtime::matchers::network, 5xx, regex("busy")])]
    async fn by_path_and_by_status() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [transient, -timeout])]
    async fn with_an_exception() -> std::io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = (network) | (timeout))]
    async fn by_alternatives() -> std::io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_matcher_as_a_type {
    use std::io;

    use retry_runtime::retry;

    #[retry(retry_on = [retry_runtime::Matcher::Network, Matcher::ServerError, Class::RATE_LIMIT])]
    async fn fetch() -> io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_matches_of_a_result {
    //! `matches(…)` tests the error, not the `Result`.
    use retry_runtime::retry;

    #[derive(Debug)]
    enum Db {
        Busy,
        Locked,
    }

    #[retry(retry_on = [matches(Err(Db::Busy))])]
    async fn of_the_error() -> Result<u32, Db> {
        Err(Db::Busy)
    }

    #[retry(retry_on = [matches(Err(Db::Busy) | Err(Db::Locked))])]
    async fn of_two_errors() -> Result<u32, Db> {
        Err(Db::Locked)
    }

    #[retry(retry_on = [matches(&Result::Err(Db::Busy) if true)])]
    async fn by_reference() -> Result<u32, Db> {
        Err(Db::Busy)
    }

    #[retry(retry_on = [matches(Ok(0))])]
    async fn of_the_value() -> Result<u32, Db> {
        Ok(0)
    }
}

mod retry_on_status_called {
    use retry_runtime::retry;

    #[retry(retry_on = [status(503), http_status(429)])]
    async fn fetch() -> std::io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_status_compared {
    use std::io;

    use retry_runtime::retry;

    #[retry(retry_on = [status >= 500])]
    async fn above() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [http_status(429), status_code(500..600)])]
    async fn of_a_range() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(abort_on = [code = 404])]
    async fn not_found() -> io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_text {
    use retry_runtime::retry;

    #[retry(retry_on = ["database is locked"])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_unknown_matcher {
    use retry_runtime::retry;

    #[retry(retry_on = [netwrok])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_what_is_no_matcher {
    //! Values that newcomers write behind `retry_on`; each has an error of its own.

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

    #[retry(retry_on = Failure::is_transient)]
    async fn fetch_0() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(retry_on = |error| error.is_transient())]
    async fn fetch_1() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(retry_on = [|error: &Failure| error.is_transient()])]
    async fn fetch_2() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(retry_on = [Failure::is_transient])]
    async fn fetch_3() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(retry_on = [Failure::Busy])]
    async fn fetch_4() -> Result<u32, Failure> {
        Ok(1)
    }

    #[retry(retry_on = [std::io::Error])]
    async fn fetch_5() -> Result<u32, Failure> {
        Ok(1)
    }

    // cured 17: Failure::is_transient => [{}]
    // cured 22: |error| error.is_transient() => [{}]
}

mod retry_on_a_condition {
    use std::io;

    use retry_runtime::retry;

    #[retry(attempts = 4, retry_on = [when(error.kind() == io::ErrorKind::TimedOut)])]
    async fn compared() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 4, retry_on = [when(!error.to_string().is_empty())])]
    async fn negated() -> io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_of_a_result_in_an_option {
    use retry_runtime::retry;

    #[retry(retry_on = [transient])]
    async fn fetch() -> Option<Result<u32, std::io::Error>> {
        None
    }
}

fn main() {}
