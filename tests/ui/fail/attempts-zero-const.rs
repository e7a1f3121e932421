use retry_runtime::retry;

const NONE: u32 = 0;

#[retry(attempts = NONE)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
