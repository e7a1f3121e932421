use retry_runtime::retry;

#[retry(retry_after = |error| error.len())]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
