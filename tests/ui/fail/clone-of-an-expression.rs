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

// cured 4: clone(&body) => clone(body)
// cured 9: clone("body") => clone(body)
// cured 14: clone(body.clone()) => clone(body)
