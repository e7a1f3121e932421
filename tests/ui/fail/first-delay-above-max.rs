use retry_runtime::retry;

#[retry(first_delay = "1m")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
