//! `clone` takes names, not expressions.
use retry_runtime::retry;

#[retry(attempts = 3, clone(&body))]
async fn upload(body: String) -> Result<usize, String> {
    Ok(body.into_bytes().len())
}

#[retry(attempts = 3, clone("body"))]
async fn quoted(body: String) -> Result<usize, String> {
    Ok(body.into_bytes().len())
}

#[retry(attempts = 3, clone(body.clone()))]
async fn called(body: String) -> Result<usize, String> {
    Ok(body.into_bytes().len())
}

fn main() {}
