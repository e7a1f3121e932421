use retry_runtime::retry;

#[retry(breaker(slow_call = "0s", slow_rate = 0.5))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
