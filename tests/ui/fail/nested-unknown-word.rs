use retry_runtime::retry;

#[retry(nested = twice)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
