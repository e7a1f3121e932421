use retry_runtime::retry;

#[retry(name = "")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
