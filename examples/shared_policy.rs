//! One policy for many functions: a `const`, of which each function may override parts. The result
//! is checked for each function separately.

use retry_runtime::{Policy, RetryError, policy, retry};

/// The policy of this program for calls to other machines.
const HTTP: Policy = policy!(
    attempts = 4,
    backoff = exponential(base = 3.0),
    initial_delay = "10ms",
    max_delay = "50ms",
    budget = "5m",
);

/// Uses the policy unchanged.
#[retry(policy = HTTP)]
async fn fetch() -> Result<(), RetryError<String>> {
    Err("connection refused".to_owned())
}

/// A user is waiting: the same policy, but with fewer attempts at equal distances.
#[retry(policy = HTTP, attempts = 2, backoff = fixed)]
async fn fetch_for_a_user() -> Result<(), RetryError<String>> {
    Err("connection refused".to_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("the policy:       {HTTP}");
    let waits: Vec<_> = (1..=3).map(|n| HTTP.wait(n)).collect();
    println!("its waits:        {waits:?}");

    println!("fetch:            {}", fetch().await.unwrap_err());
    println!("fetch_for_a_user: {}", fetch_for_a_user().await.unwrap_err());
}
