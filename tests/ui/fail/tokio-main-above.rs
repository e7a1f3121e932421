//! Attributes such as `#[tokio::main]` expand first: these are the functions that they leave.
use std::future::Future;
use std::io;

use retry_runtime::retry;

fn block_on<F: Future>(_: F) -> F::Output {
    panic!("only checked, never run")
}

#[retry(attempts = 3, timeout = "2s")]
fn as_tokio_does() -> io::Result<()> {
    let body = async { Ok(()) };
    {
        return block_on(body);
    }
}

#[retry(attempts = 3, hedge = "50ms")]
fn as_async_std_does() -> io::Result<()> {
    async fn as_async_std_does() -> io::Result<()> {
        Ok(())
    }
    block_on(async { as_async_std_does().await })
}

#[retry(attempts = 3, timeout = "2s")]
fn never_async() -> io::Result<()> {
    block_on(async { Ok(()) })
}

fn main() {}
