use std::future::Future;

use retry_runtime::retry;

#[retry]
async fn joined(answer: impl Future<Output = std::io::Result<u32>>) -> std::io::Result<u32> {
    answer.await
}

fn main() {}
