use retry_runtime::retry;

#[retry(attempts = 4294967296)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
