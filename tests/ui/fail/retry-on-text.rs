use retry_runtime::retry;

#[retry(retry_on = ["database is locked"])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
