use retry_runtime::retry;

#[retry(initial_delay = wait)]
async fn fetch(wait: std::time::Duration) -> Result<u32, String> {
    Ok(wait.subsec_nanos())
}

fn main() {}
