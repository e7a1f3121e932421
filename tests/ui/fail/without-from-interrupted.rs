mod breaker_without_from_interrupted {
    use retry_runtime::retry;

    use retry_runtime::CircuitBreaker;

    static DB: CircuitBreaker = CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());

    #[derive(Debug)]
    enum DbError {
        Busy,
    }

    #[retry(breaker = DB)]
    async fn fetch() -> Result<u32, DbError> {
        Err(DbError::Busy)
    }
}

mod deadline_without_from_interrupted {
    use retry_runtime::retry;

    #[derive(Debug)]
    enum DbError {
        Busy,
    }

    #[retry(deadline = "30s")]
    async fn fetch() -> Result<u32, DbError> {
        Err(DbError::Busy)
    }
}

mod policy_without_from_interrupted {
    use retry_runtime::retry;

    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(timeout = "2s");

    #[derive(Debug)]
    enum DbError {
        Busy,
    }

    #[retry(policy = HTTP)]
    async fn fetch() -> Result<u32, DbError> {
        Err(DbError::Busy)
    }
}

mod timeout_and_alias_without_from_interrupted {
    //! Errors that are not written in the return type, and a type parameter.
    use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, policy, retry};

    #[derive(Debug)]
    struct StoreError;

    type Result<T, E = StoreError> = std::result::Result<T, E>;

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    const TIMED: Policy = policy!(timeout = "2s");

    #[retry(timeout = "2s", breaker = DB)]
    async fn by_an_alias() -> Result<u32> {
        Ok(1)
    }

    #[retry(timeout = "2s")]
    async fn of_a_parameter<E>(call: impl Fn() -> Result<u32, E>) -> Result<u32, E> {
        call()
    }

    #[retry(policy = TIMED)]
    async fn of_a_parameter_by_policy<E>(call: impl Fn() -> Result<u32, E>) -> Result<u32, E> {
        call()
    }
}

mod timeout_and_breaker_without_from_interrupted {
    use retry_runtime::retry;

    use retry_runtime::CircuitBreaker;

    static DB: CircuitBreaker = CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());

    #[retry(timeout = "2s", breaker = DB)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod timeout_without_from_interrupted {
    use retry_runtime::retry;

    #[derive(Debug)]
    enum DbError {
        Busy,
    }

    #[retry(timeout = "2s")]
    async fn fetch() -> Result<u32, DbError> {
        Err(DbError::Busy)
    }
}

fn main() {}
