use retry_runtime::retry;

use std::future::Future;
use std::pin::Pin;

#[retry]
fn fetch() -> Pin<Box<dyn Future<Output = Result<u32, String>>>> {
    let future = async { Ok(7) };
    Box::pin(future)
}

fn main() {}

// cured 7: fn fetch() -> Pin<Box<dyn Future<Output = Result<u32, String>>>> => {} fetch() -> Result<u32, String>
// cured 7: Box::pin(future) => future.await
