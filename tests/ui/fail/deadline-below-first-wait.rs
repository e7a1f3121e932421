use retry_runtime::retry;

#[retry(deadline = "1s")]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
