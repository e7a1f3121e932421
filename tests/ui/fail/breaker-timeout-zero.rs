use retry_runtime::retry;

#[retry(breaker(timeout = "0s"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
