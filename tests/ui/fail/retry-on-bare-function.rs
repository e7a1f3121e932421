use retry_runtime::retry;

#[retry(retry_on = [is_transient])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn is_transient(error: &String) -> bool {
    error.is_empty()
}

fn main() {}
