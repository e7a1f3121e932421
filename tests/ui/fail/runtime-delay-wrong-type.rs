use retry_runtime::retry;

#[retry(initial_delay = wait, deadline = limit)]
async fn fetch(wait: u64, limit: u64) -> Result<u64, std::io::Error> {
    Ok(wait + limit)
}

fn main() {}
