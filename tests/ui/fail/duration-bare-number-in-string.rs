use retry_runtime::retry;

#[retry(max_delay = "30")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: `initial_delay` (1s, the default) is longer
