//! A constant cannot hold what is known only at runtime.
use retry_runtime::{Policy, policy};

fn of(attempts: u32) -> Policy {
    policy!(attempts = attempts, jitter)
}

fn main() {
    of(7);
}
