//! The `RetryLayer` of `retry-runtime`, kept in memory until the program ends, as the service is
//! anyway. Otherwise like the counted one.

use std::io;
use std::sync::LazyLock;

use retry_runtime::tower::RetryLayer;
use retry_runtime::{Retrier, RetryError};
use tower::{Layer as _, Service as _, ServiceExt as _};

use super::POLICY;
use super::retry_layer::Client;
use crate::answer::answer;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    RetryLayer::new(Retrier::new(POLICY).for_error()).leak().layer(tower::service_fn(answer))
});

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    let mut client = CLIENT.clone();
    let ready = client.ready().await.map_err(RetryError::into_error)?;
    ready.call(id).await.map_err(RetryError::into_error)
}
