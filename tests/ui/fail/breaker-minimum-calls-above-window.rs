use retry_runtime::retry;

#[retry(breaker(failure_rate = 0.5, window_calls = 20, minimum_calls = 50))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(breaker(failure_rate = 0.5, minimum_calls = 200))]
async fn by_default() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
