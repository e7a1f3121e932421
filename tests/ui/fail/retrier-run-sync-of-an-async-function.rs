use retry_runtime::{Policy, Retrier, RetryError};

async fn get(id: u64) -> std::io::Result<u64> {
    Ok(id)
}

async fn fetch(retrier: &Retrier) -> Result<u64, RetryError<std::io::Error>> {
    retrier.run_sync(|| get(7))
}

fn main() {
    let retrier = Retrier::new(Policy::new());
    let _fetching = fetch(&retrier);
    let call = retrier.blocking(async || get(7).await);
}
