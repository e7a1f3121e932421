use retry_runtime::retry;

#[retry(breaker(hold = "0s"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
