use retry_runtime::retry;

#[retry(breaker(failure_threshold = 3), when_open = sleep)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
