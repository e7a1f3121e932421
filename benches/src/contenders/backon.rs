//! backon: an extension of closures.

use std::io;

use backon::{ExponentialBuilder, Retryable as _};

use super::FIRST_WAIT;
use crate::answer::answer;
use crate::policies::{ATTEMPTS, MAX_WAIT};

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    (|| answer(id)).retry(waits()).await
}

/// Also used by backon-macros.
pub(super) const fn waits() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(MAX_WAIT)
        .with_max_times(ATTEMPTS as usize - 1)
}
