use retry_runtime::retry;

#[retry(3)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
