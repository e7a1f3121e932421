//! Jitter that only lengthens waits.
use retry_runtime::retry;

#[retry(jitter = up)]
async fn without_a_share() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = up(1.5))]
async fn above_one() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = up(0))]
async fn nothing() -> Result<u32, String> {
    Ok(1)
}

const SHARE: f64 = 3.0;

#[retry(jitter = up(SHARE))]
async fn above_one_as_a_constant() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = up(0.1, 0.3))]
async fn two_shares() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = "250ms..0ms")]
async fn reversed() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = "0ms..")]
async fn without_an_end() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = "1m..2m")]
async fn longer_than_all_waits() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = 0.0..0.5)]
async fn of_shares() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = decorrelated, jitter = "0ms..250ms")]
async fn beside_decorrelated() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = "0..250")]
async fn without_units() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = "250ms")]
async fn one_time() -> Result<u32, String> {
    Ok(1)
}

#[retry(jitter = "0ms..250ms", backoff = fixed, max_delay = "100ms", initial_delay = "200ms")]
async fn above_max() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
