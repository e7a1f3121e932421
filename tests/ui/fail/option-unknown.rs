use retry_runtime::retry;

#[retry(atempts = 5)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

#[retry(retries = 3, max_dealy = 10)]
async fn without_unit() -> Result<u32, String> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 3, reset_timeout = 30))]
async fn of_a_breaker() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}

// remains: a duration needs a unit
