use retry_runtime::retry;

#[retry(history = 5)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
