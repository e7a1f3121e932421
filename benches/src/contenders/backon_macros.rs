//! backon's attribute.

use std::io;

use backon_macros::backon;

use super::backon::waits;
use crate::answer::answer;

#[backon(backoff = waits)]
#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    answer(id).await
}
