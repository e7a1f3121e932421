use retry_runtime::retry;

#[retry(breaker(max_timeout = "1m"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
