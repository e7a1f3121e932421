use retry_runtime::retry;

#[retry(breaker(slow_call = "2s"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
