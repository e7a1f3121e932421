use retry_runtime::retry;

#[retry(breaker(timeout_jitter = 2.0))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
