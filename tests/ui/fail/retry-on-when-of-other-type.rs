use retry_runtime::retry;

fn is_transient(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Interrupted
}

#[retry(retry_on = [when(is_transient)])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

struct Page {
    pending: bool,
}

#[retry(retry_on = [ok(|page: Page| page.pending)])]
async fn page() -> Result<Page, String> {
    Ok(Page { pending: false })
}

#[retry(retry_on = [when(|error: String| error.is_empty())])]
async fn text() -> Result<Page, String> {
    Ok(Page { pending: false })
}

fn main() {}
