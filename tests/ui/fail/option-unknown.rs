use retry_runtime::retry;

#[retry(atempts = 5)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
