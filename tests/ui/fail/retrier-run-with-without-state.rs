use std::io;

use retry_runtime::{Policy, Retrier};

async fn get(id: u64) -> io::Result<u64> {
    Ok(id)
}

async fn pages() {
    let retrier = Retrier::new(Policy::new());
    let _ = retrier.run_with(Vec::new(), |mut seen: Vec<u64>, _| async move {
        seen.push(1);
        get(1).await
    })
    .await;
}

fn main() {}
