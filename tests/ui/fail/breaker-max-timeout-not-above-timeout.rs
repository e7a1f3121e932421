use retry_runtime::retry;

#[retry(breaker(timeout_growth = 2.0, timeout = "2m", max_timeout = "1m"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
