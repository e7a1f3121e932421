use retry_runtime::retry;

#[retry(3)]
async fn without_a_name() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts == 3)]
async fn compared() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 3,, jitter)]
async fn two_commas() -> Result<u32, String> {
    Ok(7)
}

#[retry(runtime(attempts = 3))]
async fn inside_runtime() -> Result<u32, String> {
    Ok(7)
}

#[retry(max_delay = "1m" * 2)]
async fn computed() -> Result<u32, String> {
    Ok(7)
}

#[retry(max_elapsed = none)]
async fn without_a_bound() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = none)]
async fn without_attempts() -> Result<u32, String> {
    Ok(7)
}

#[retry(backoff = exponential.with_max_delay("3s"), attempts = 3)]
async fn built() -> Result<u32, String> {
    Ok(7)
}

#[retry(breaker(failure_rate = "95%"), when_open = wait("5s"))]
async fn bounded_wait() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(attempts = 3, initial_delay = "1,5s", max_delay = "00:00:02")]
async fn other_clocks() -> Result<u32, String> {
    Ok(7)
}

#[retry(max_delay = "1,000ms")]
async fn perhaps_a_thousand() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: a duration needs a unit
// cured 38: exponential.with_max_delay("3s") => {}
