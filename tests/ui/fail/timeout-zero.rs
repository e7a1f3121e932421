use retry_runtime::retry;

#[retry(timeout = "0s")]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
