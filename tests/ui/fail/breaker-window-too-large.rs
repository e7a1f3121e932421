use retry_runtime::retry;

#[retry(breaker(failure_rate = 0.5, window_calls = 100_000))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
