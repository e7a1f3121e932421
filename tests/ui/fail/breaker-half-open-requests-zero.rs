use retry_runtime::retry;

#[retry(breaker(half_open_requests = 0))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
