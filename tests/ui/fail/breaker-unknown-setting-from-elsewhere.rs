use retry_runtime::retry;

#[retry(breaker(reset_timeout = "30s"))]
async fn fetch() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 5, fallback_method = "cached"))]
async fn load() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}
