use retry_runtime::retry;

#[retry(budget = "1h", uncounted = [rate_limit, pattern("(?i)slow down"), 503])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

#[retry(budget = "1h", uncounted = rate_limit)]
async fn fetch_one() -> Result<u32, String> {
    Ok(7)
}

#[retry(budget = "1h", uncounted = [])]
async fn fetch_none() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
