use std::ops::ControlFlow;

use retry_runtime::retry;

#[retry(attempts = 1, wait_by = |_, _, wait| ControlFlow::Continue(wait))]
fn once() -> Result<u32, String> {
    Ok(1)
}

#[retry(wait_by)]
fn nothing() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
