use retry_runtime::retry;

#[retry(breaker(failure_rate = 1.5))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
