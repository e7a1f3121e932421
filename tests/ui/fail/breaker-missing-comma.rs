use retry_runtime::retry;

#[retry(breaker(failure_threshold = 5 timeout = "30s"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
