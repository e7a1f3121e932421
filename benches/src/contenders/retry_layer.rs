//! The `RetryLayer` of `retry-runtime`, for tower services. The service is created once, and each
//! call clones it, as tower's servers and clients do.

use std::io;
use std::sync::LazyLock;

use retry_runtime::retrier::ForError;
use retry_runtime::tower::{RetryLayer, RetryService};
use retry_runtime::{Retrier, RetryError};
use tower::util::ServiceFn;
use tower::{Layer as _, Service as _, ServiceExt as _};

use super::POLICY;
use crate::answer::{Answer, answer};

pub(super) type Client = RetryService<ServiceFn<fn(u64) -> Answer>, ForError<io::Error>>;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    RetryLayer::new(Retrier::new(POLICY).for_error()).layer(tower::service_fn(answer))
});

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    let mut client = CLIENT.clone();
    let ready = client.ready().await.map_err(RetryError::into_error)?;
    ready.call(id).await.map_err(RetryError::into_error)
}
