use retry_runtime::{RetryEvent, retry};

async fn record(text: String) {
    println!("{text}");
}

async fn listen(event: &RetryEvent<'_, String>) {
    record(event.to_string()).await;
}

#[retry(attempts = 2, on_retry = async |event| println!("{event}"))]
async fn closure() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 2, on_retry = |event| async move { record(event.to_string()).await })]
async fn block() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 2, on_retry = |event| record(event.to_string()))]
async fn call() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 2, on_retry = listen)]
async fn function() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
