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

fn main() {}
