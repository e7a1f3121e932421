use retry_runtime::retry;

const BUDGET: std::time::Duration = std::time::Duration::from_millis(500);

#[retry(budget = BUDGET)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
