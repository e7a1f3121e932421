use retry_runtime::retry;

const SECONDS: u64 = 30;

#[retry(max_delay = SECONDS)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
