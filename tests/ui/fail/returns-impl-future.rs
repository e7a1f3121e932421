use retry_runtime::retry;

use std::future::Future;

#[retry(context = cx)]
fn fetch() -> impl Future<Output = Result<u32, String>> {
    async { Ok(cx.number()) }
}

fn main() {}

// cured 6: fn fetch() -> impl Future<Output = Result<u32, String>> => {} fetch() -> Result<u32, String>
// cured 6: async { Ok(cx.number()) } => Ok(cx.number())
