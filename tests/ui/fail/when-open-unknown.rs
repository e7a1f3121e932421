use retry_runtime::retry;

#[retry(breaker(failure_threshold = 3), when_open = sleep)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 3), when_open = "wait")]
async fn quoted() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(breaker(half_open = "gradual"), on_failure = "continue")]
async fn others() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
