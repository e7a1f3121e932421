use retry_runtime::retry;

use std::future::Future;

#[retry]
fn fetch() -> impl Future<Output = Result<u32, String>> {
    async { Ok(7) }
}

fn main() {}
