use retry_runtime::retry;

#[retry(wibble = 5)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
