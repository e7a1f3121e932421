use retry_runtime::retry;

fn is_transient(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Interrupted
}

#[retry(retry_on = [when(is_transient)])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
