use retry_runtime::retry;

#[retry(breaker(reset_timeout = "30s"))]
async fn fetch() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}
