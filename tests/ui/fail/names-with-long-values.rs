//! A long value would hide the message: a proposal shows it as `…`, or as a function `f`.
use std::io;

use retry_runtime::retry;

#[retry(retry_if = |error: &io::Error| {
    let kind = error.kind();
    kind == io::ErrorKind::TimedOut || kind == io::ErrorKind::ConnectionReset
})]
async fn named_otherwise() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [|error: &io::Error| error.kind() == io::ErrorKind::TimedOut || error.kind() == io::ErrorKind::ConnectionReset])]
async fn without_a_word() -> io::Result<u32> {
    Ok(7)
}

fn main() {}

// cured 6: by hand
// cured 14: by hand
