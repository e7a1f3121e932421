use retry_runtime::retry;

#[retry(first_delay = "10s", max_elapsed = "5s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
