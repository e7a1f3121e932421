//! tokio-retry2: a strategy, which is an iterator, and an action.

use std::io;

use tokio_retry2::strategy::ExponentialFactorBackoff;
use tokio_retry2::{Retry, RetryError};

use super::FIRST_WAIT;
use crate::answer::answer;
use crate::policies::{ATTEMPTS, MAX_WAIT};

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    let waits = ExponentialFactorBackoff::from_millis(FIRST_WAIT.as_secs() * 1_000, 2.0)
        .max_delay(MAX_WAIT)
        .take(ATTEMPTS as usize - 1);
    Retry::spawn(waits, || async { answer(id).await.map_err(RetryError::transient) }).await
}
