use retry_runtime::retry;

#[retry(breaker(slow_call = "2s", slow_rate = 0.0))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
