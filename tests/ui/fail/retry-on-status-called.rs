use retry_runtime::retry;

#[retry(retry_on = [status(503), http_status(429)])]
async fn fetch() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}
