use retry_runtime::retry;

#[retry(retry_on = [pattern("(?i)locked (database")])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
