use retry_runtime::retry;

#[retry(breaker(timeout_growth = 0.5))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
