use retry_runtime::retry;

#[retry(retry_on = [|error: &String| error.is_empty()])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
