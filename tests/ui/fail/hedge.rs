//! Values that `hedge` cannot have.
use retry_runtime::{policy, retry};

struct Client;

impl Client {
    #[retry(hedge = "200ms")]
    async fn exclusive(&mut self) -> Result<u32, String> {
        Ok(1)
    }
}

#[retry(hedge = "200ms")]
async fn lent(buffer: &mut Vec<u8>) -> Result<u32, String> {
    buffer.clear();
    Ok(1)
}

#[retry(hedge = "200ms")]
fn blocking() -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge)]
async fn alone() -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge(max = 2))]
async fn without_a_delay() -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge(delay = "200ms", attempts = 2))]
async fn other_words() -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge = 200ms)]
async fn not_quoted() -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge = "0s")]
async fn at_once() -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge = "2s", timeout = "2s")]
async fn after_the_timeout() -> Result<u32, retry_runtime::RetryError<String>> {
    Ok(1)
}

#[retry(hedge(after = "5s", max = 0), deadline = "3s")]
async fn after_the_deadline() -> Result<u32, retry_runtime::RetryError<String>> {
    Ok(1)
}

#[retry(hedge = p5)]
async fn nearly_always() -> Result<u32, String> {
    Ok(1)
}

const HEDGED: retry_runtime::Policy = policy!(hedge = "200ms");

#[retry(policy = HEDGED)]
async fn not_told() -> Result<u32, String> {
    Ok(1)
}

const MEASURED: retry_runtime::Policy = policy!(hedge = p95);

const LONG: std::time::Duration = std::time::Duration::from_secs(60);

#[retry(hedge = LONG, timeout = "2s")]
async fn constant() -> Result<u32, retry_runtime::RetryError<String>> {
    Ok(1)
}

#[retry(hedge = "p95")]
async fn quoted_percentile() -> Result<u32, String> {
    Ok(1)
}

fn main() {}

// cured 66: policy = HEDGED => policy = HEDGED, {}
