//! The attribute of `retry-runtime`.

use std::io;

use retry_runtime::retry;

use super::POLICY;
use crate::answer::answer;

#[retry(policy = POLICY)]
#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    answer(id).await
}
