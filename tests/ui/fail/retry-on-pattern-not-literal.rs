use retry_runtime::retry;

const LOCKED: &str = "locked";

#[retry(retry_on = [pattern(LOCKED)])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// cured 5: pattern(LOCKED) => {}
