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

fn main() {}

// remains: `attempts = unlimited` never ends on its own
// remains: `Failure` reveals nothing about itself
