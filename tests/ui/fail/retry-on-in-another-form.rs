use retry_runtime::retry;

#[retry(retry_on = { network, timeout })]
async fn in_braces() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [retry_runtime::matchers::network, 5xx, regex("busy")])]
async fn by_path_and_by_status() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [transient, -timeout])]
async fn with_an_exception() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = (network) | (timeout))]
async fn by_alternatives() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}
