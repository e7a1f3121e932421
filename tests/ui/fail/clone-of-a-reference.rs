use retry_runtime::retry;

#[retry(clone(text))]
async fn fetch(text: &str) -> Result<usize, String> {
    Ok(text.len())
}

fn main() {}
