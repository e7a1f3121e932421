use retry_runtime::retry;

#[retry(attempts = 5)]
async fn fetch() -> Result<u32, String> {
    let text = String::from("seven");
    text.
    Ok(7)
}

fn main() {}
