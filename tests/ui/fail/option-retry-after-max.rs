use retry_runtime::retry;

#[retry(retry_after_max = 600)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: a duration needs a unit
