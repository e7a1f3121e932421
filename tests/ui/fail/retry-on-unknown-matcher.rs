use retry_runtime::retry;

#[retry(retry_on = [netwrok])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
