mod retrier_blocking_without_call {
    //! `blocking` only prepares a call.
    use std::io;

    use retry_runtime::{Policy, Retrier, RetryError};

    fn load() -> Result<String, RetryError<io::Error>> {
        let retrier = Retrier::new(Policy::new());
        let text = retrier.blocking(|| std::fs::read_to_string("page"))?;
        Ok(text)
    }
}

mod retrier_breaker_not_shared {
    use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker, Policy, Retrier};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 100);

    fn by_value() -> Retrier {
        Retrier::new(Policy::new()).breaker(DB)
    }

    fn created_in_place() -> Retrier {
        Retrier::new(Policy::new()).breaker(CircuitBreaker::new("own", BreakerConfig::new()))
    }

    fn by_family() -> Retrier {
        Retrier::new(Policy::new()).breaker(&HOSTS)
    }

    fn as_a_quota() -> Retrier {
        Retrier::new(Policy::new()).quota(&DB)
    }
}

mod retrier_classified_after_when {
    use retry_runtime::{Class, Classify, Policy, Retrier};

    struct Busy;

    impl std::fmt::Display for Busy {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("busy")
        }
    }

    impl Classify for Busy {
        fn class(&self) -> Class {
            Class::SERVER_ERROR
        }
    }

    fn mistake() {
        let _retrier = Retrier::new(Policy::new()).when(|_: &Busy| true).classified();
    }
}

mod retrier_error_that_cannot_be_read {
    use retry_runtime::{Policy, Retrier, RetryError};

    struct Refused;

    async fn fetch() -> Result<u32, Refused> {
        Err(Refused)
    }

    async fn fetched() -> Result<u32, RetryError<Refused>> {
        Retrier::new(Policy::new()).run(|| fetch()).await
    }
}

mod retrier_given_a_future {
    use retry_runtime::{Policy, Retrier, RetryError};

    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    async fn fetched() -> Result<u32, RetryError<std::io::Error>> {
        Retrier::new(Policy::new()).run(fetch()).await
    }
}

mod retrier_keeps_what_cannot_be_shared {
    use std::cell::Cell;

    use retry_runtime::{Policy, Retrier};

    fn mistake() {
        let calls = Cell::new(0);
        let _retrier = Retrier::new(Policy::new()).when(move |_: &std::io::Error| {
            calls.set(calls.get() + 1);
            true
        });
    }
}

mod retrier_of_a_number {
    use retry_runtime::Retrier;

    fn retrier() -> Retrier {
        Retrier::new(5)
    }
}

mod retrier_of_another_error {
    use retry_runtime::{Policy, Retrier};

    fn mistake() {
        let retrier = Retrier::new(Policy::new()).when(|_: &std::io::Error| true);
        let _ = retrier.run_sync(|| "seven".parse::<u32>());
    }
}

mod retrier_of_what_is_not_a_result {
    use retry_runtime::{Policy, Retrier};

    async fn fetch() -> u32 {
        7
    }

    fn mistake() {
        let _call = Retrier::new(Policy::new()).run(|| fetch());
    }
}

mod retrier_on_retry_async {
    use retry_runtime::{Policy, Retrier, RetryEvent};

    async fn record(text: String) {
        println!("{text}");
    }

    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    async fn call() {
        let retrier = Retrier::new(Policy::new());
        let seven = retrier.run(|| fetch()).on_retry(|event| record(event.to_string())).await;
        assert_eq!(seven.ok(), Some(7));
    }

    fn mistake() {
        let _calling = call();
        let _retrier = Retrier::new(Policy::new())
            .on_retry(|event: &RetryEvent<'_, String>| record(event.to_string()));
    }
}

mod retrier_retry_on_closure {
    use std::io;

    use retry_runtime::{Policy, Retrier};

    fn mistake() {
        let _ = Retrier::new(Policy::new()).retry_on(|error: &io::Error| error.kind() == io::ErrorKind::TimedOut);
    }
}

fn main() {}
