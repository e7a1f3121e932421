//! Attempts that run at once share an argument, even if there is only one besides its hedge.
use retry_runtime::retry;

#[retry(attempts = 1, hedge = "200ms")]
async fn fetch(mut url: String) -> Result<String, String> {
    url.push_str("&v=1");
    Ok(url.clone())
}

fn main() {}
