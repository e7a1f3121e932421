use retry_runtime::retry;

#[retry(on_failure = fallback)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// cured 3/1: fallback => fallback(f)
// cured 3/1: => fn f(_: RetryError<String>) -> u32 { 7 }
// cured 3/2: fallback => fallback(|error| error.attempts())
