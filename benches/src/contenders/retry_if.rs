//! retry-if: an attribute with a configuration and a predicate.

use std::io;

use retry_if::{ExponentialBackoffConfig, retry};

use super::FIRST_WAIT;
use crate::answer::answer;
use crate::policies::{ATTEMPTS, MAX_WAIT};

const WAITS: ExponentialBackoffConfig = ExponentialBackoffConfig {
    max_retries: ATTEMPTS - 1,
    t_wait: FIRST_WAIT,
    backoff: 2.0,
    t_wait_max: None,
    backoff_max: Some(MAX_WAIT),
};

#[retry(WAITS, has_failed)]
#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    answer(id).await
}

fn has_failed(result: &io::Result<u64>) -> bool {
    result.is_err()
}
