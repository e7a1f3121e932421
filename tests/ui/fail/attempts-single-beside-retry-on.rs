use retry_runtime::retry;

#[retry(attempts = 1, retry_on = [network])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
