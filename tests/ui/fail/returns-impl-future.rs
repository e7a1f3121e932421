use retry_runtime::retry;

use std::future::Future;

#[retry(context = cx)]
fn fetch() -> impl Future<Output = Result<u32, String>> {
    async { Ok(cx.number()) }
}

fn main() {}
