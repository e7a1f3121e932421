//! tower-resilience: a layer around a service. The service is created once, and each call clones
//! it, as tower's servers and clients do.

use std::io;
use std::sync::LazyLock;

use tower::util::ServiceFn;
use tower::{Layer as _, Service as _, ServiceExt as _};
use tower_resilience_retry::{ExponentialBackoff, Retry, RetryLayer};

use super::FIRST_WAIT;
use crate::answer::{Answer, answer};
use crate::policies::{ATTEMPTS, MAX_WAIT};

type Client = Retry<ServiceFn<fn(u64) -> Answer>, u64, u64, io::Error>;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    RetryLayer::builder()
        .max_attempts(ATTEMPTS as usize)
        .backoff(ExponentialBackoff::new(FIRST_WAIT).max_interval(MAX_WAIT))
        .build()
        .layer(tower::service_fn(answer))
});

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    CLIENT.clone().ready().await?.call(id).await
}
