use retry_runtime::retry;

#[retry(budget = "unlimited")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
