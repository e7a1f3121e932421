use retry_runtime::retry;

const NONE: u32 = 0;

#[retry(breaker(failure_threshold = NONE))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
