use retry_runtime::retry;

const SAMPLE: u32 = 20;

#[retry(breaker(minimum_calls = SAMPLE))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
