//! A value that const evaluation cannot compute is reported once, by its source.
use retry_runtime::retry;

#[retry(attempts = std::env::var("ATTEMPTS").map_or(3, |text| text.len()))]
async fn variable() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = std::env::var("ATTEMPTS").unwrap().parse().unwrap())]
async fn parsed() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = runtime(std::env::var("ATTEMPTS").map_or(3, |text| text.parse::<u32>().unwrap())))]
async fn cured() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
