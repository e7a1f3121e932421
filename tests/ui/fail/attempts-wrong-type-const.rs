use retry_runtime::retry;

const MANY: u64 = 5;

#[retry(attempts = MANY)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
