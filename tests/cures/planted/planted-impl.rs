use retry_runtime::retry;

#[retry(timeout = "2s")]
async fn fetch() -> Result<u32, &'static str> {
    Ok(7)
}

// cured 4: => {} { fn from(_: Interrupted) -> Self { "late" } }
