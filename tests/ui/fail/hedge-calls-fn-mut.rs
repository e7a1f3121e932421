use retry_runtime::retry;

#[retry(attempts = 3, hedge = "200ms")]
async fn fetch(mut next: impl FnMut() -> u64) -> Result<u64, String> {
    Ok(next())
}

fn main() {}
