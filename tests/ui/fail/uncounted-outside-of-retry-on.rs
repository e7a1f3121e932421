use retry_runtime::retry;

#[retry(budget = "1h", retry_on = [network, timeout], uncounted = [rate_limit, connect])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
