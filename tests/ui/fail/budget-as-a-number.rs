use retry_runtime::retry;

#[retry(attempts = 3, budget = 100)]
async fn by_count() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 3, budget = 0.2)]
async fn by_share() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: the first wait already exceeds this budget
