//! A variable that each attempt would move: the compiler names it.
use std::io;

use retry_runtime::{Policy, Retrier, RetryError, retrying};

async fn post(body: Vec<u8>) -> io::Result<usize> {
    Ok(body.len())
}

async fn in_a_block(body: Vec<u8>) -> io::Result<usize> {
    retrying!(name = "in_a_block", async { post(body).await }).await
}

async fn in_a_block_with_a_type(body: Vec<u8>) -> io::Result<usize> {
    retrying!(name = "with_a_type", async || -> io::Result<usize> { Ok(post(body).await?) }).await
}

fn in_a_block_that_is_not_async(body: Vec<u8>) -> io::Result<String> {
    retrying!(name = "not_async", || String::from_utf8(body).map_err(io::Error::other))
}

async fn in_a_closure(body: Vec<u8>) -> Result<usize, RetryError<io::Error>> {
    Retrier::new(Policy::new()).run(move || post(body)).await
}

fn main() {}
