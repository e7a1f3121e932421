use retry_runtime::retry;

#[retry(attempts = 1, budget = "1m", backoff = fixed, breaker(hold = "2m"), when_open = wait)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
