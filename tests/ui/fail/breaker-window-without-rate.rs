use retry_runtime::retry;

#[retry(breaker(window_calls = 50))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
