use retry_runtime::retry;

#[retry(retry_on = [pattern])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
