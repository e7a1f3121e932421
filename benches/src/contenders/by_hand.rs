//! The loop of a careful programmer: delays, and an event for the person on call.

use std::io;

use super::FIRST_WAIT;
use crate::answer::answer;
use crate::policies::{ATTEMPTS, MAX_WAIT};

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    let (mut attempt, mut delay) = (1, FIRST_WAIT);
    loop {
        match answer(id).await {
            Ok(value) => return Ok(value),
            Err(error) if attempt == ATTEMPTS => {
                tracing::warn!(target: "retry", attempt, %error, "gave up");
                return Err(error);
            }
            Err(error) => tracing::debug!(target: "retry", attempt, %error, ?delay, "will retry"),
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(MAX_WAIT);
        attempt += 1;
    }
}
