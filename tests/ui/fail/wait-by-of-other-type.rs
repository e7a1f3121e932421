use std::time::Duration;

use retry_runtime::{Policy, Retrier, retry};

#[retry(wait_by = |_, _, wait| Some(2 * wait))]
fn optional() -> Result<u32, String> {
    Ok(1)
}

#[retry(wait_by = |_, wait| std::ops::ControlFlow::Continue(2 * wait))]
fn without_a_number() -> Result<u32, String> {
    Ok(1)
}

#[retry(retry_after = |_, wait| Some(2 * wait))]
fn by_another_option() -> Result<u32, String> {
    Ok(1)
}

fn main() {
    let _ = Retrier::new(Policy::new()).wait_by(|_, _: &String, wait: Duration| wait);
    let retrier = Retrier::new(Policy::new());
    let _ = retrier.blocking(|| Err::<(), _>("busy")).wait_by(|_, _, wait| Some(wait)).call();
}
