use retry_runtime::retry;

#[retry("5s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
