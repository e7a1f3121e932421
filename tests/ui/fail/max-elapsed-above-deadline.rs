use retry_runtime::retry;

#[retry(deadline = "30s", max_elapsed = "5m")]
async fn fetch() -> std::io::Result<()> {
    Ok(())
}

fn main() {}
