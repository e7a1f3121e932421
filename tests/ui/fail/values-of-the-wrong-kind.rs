use std::io;
use std::time::{Duration, Instant};

use retry_runtime::{Policy, policy, retry};

enum Status {
    Pending,
}

#[retry(retry_on = [ok(Status::Pending)])]
async fn status() -> io::Result<Status> {
    Ok(Status::Pending)
}

#[retry(on_retry = println!("again"))]
async fn listener() -> io::Result<()> {
    Ok(())
}

#[retry(retry_after = "Retry-After")]
async fn header() -> io::Result<()> {
    Ok(())
}

#[retry(jitter = "100ms", timeout = "PT30S", deadline = Instant::now() + Duration::from_secs(5))]
async fn times() -> io::Result<()> {
    Ok(())
}

#[retry(policy = "http")]
async fn named() -> io::Result<()> {
    Ok(())
}

#[retry(quota = 100, breaker(name = "db"))]
async fn shared() -> io::Result<()> {
    Ok(())
}

#[retry(clone = body)]
async fn send(body: Vec<u8>) -> io::Result<()> {
    drop(body);
    Ok(())
}

#[retry(on_failure = Ok(0))]
async fn value() -> io::Result<u32> {
    Ok(1)
}

fn build(retries: u32) -> Policy {
    policy!(attempts = retries + 1)
}

fn main() {}

// remains: cannot find value `HTTP`
// cured 40: clone = body => clone(body)
// cured 46: on_failure = Ok(0) => on_failure = {}
