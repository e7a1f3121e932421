//! `blocking` only prepares a call.
use std::io;

use retry_runtime::{Policy, Retrier, RetryError};

fn load() -> Result<String, RetryError<io::Error>> {
    let retrier = Retrier::new(Policy::new());
    let text = retrier.blocking(|| std::fs::read_to_string("page"))?;
    Ok(text)
}

fn main() {}
