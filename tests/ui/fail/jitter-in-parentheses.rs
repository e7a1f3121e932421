use retry_runtime::retry;

#[retry(jitter(0.25))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
