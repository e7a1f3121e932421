use retry_runtime::retry;

fn cached(error: std::io::Error) -> u32 {
    error.raw_os_error().map_or(0, i32::unsigned_abs)
}

#[retry(on_failure = fallback(cached))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
