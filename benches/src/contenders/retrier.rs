//! The `Retrier` of `retry-runtime`, for closures. It is created once, as a `static`.

use std::io;

use retry_runtime::Retrier;

use super::POLICY;
use crate::answer::answer;

static RETRIER: Retrier = Retrier::new(POLICY);

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    let ended = RETRIER.run(|| answer(id)).await;
    ended.map_err(|error| error.into_last().expect("nothing but a failure ends this call"))
}
