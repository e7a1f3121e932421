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

fn main() {}
