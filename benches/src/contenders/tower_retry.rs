//! tower's own retries, with its exponential backoff. The service is created once, and each call
//! clones it, as tower's servers and clients do.

use std::io;
use std::sync::LazyLock;

use tower::retry::backoff::{
    Backoff as _, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff as _,
};
use tower::retry::{Policy, Retry, RetryLayer};
use tower::util::ServiceFn;
use tower::util::rng::HasherRng;
use tower::{Layer as _, Service as _, ServiceExt as _};

use super::FIRST_WAIT;
use crate::answer::{Answer, answer};
use crate::policies::{ATTEMPTS, MAX_WAIT};

/// A policy with a number of attempts, which tower leaves to its users.
#[derive(Clone)]
struct Attempts {
    left: u32,
    backoff: ExponentialBackoff,
}

impl Policy<u64, u64, io::Error> for Attempts {
    type Future = tokio::time::Sleep;

    fn retry(&mut self, _: &mut u64, result: &mut io::Result<u64>) -> Option<Self::Future> {
        if result.is_ok() || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(self.backoff.next_backoff())
    }

    fn clone_request(&mut self, id: &u64) -> Option<u64> {
        Some(*id)
    }
}

type Client = Retry<Attempts, ServiceFn<fn(u64) -> Answer>>;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let backoff = ExponentialBackoffMaker::new(FIRST_WAIT, MAX_WAIT, 0.0, HasherRng::default());
    let backoff = backoff.expect("it is no longer than the longest").make_backoff();
    RetryLayer::new(Attempts { left: ATTEMPTS - 1, backoff })
        .layer(tower::service_fn(answer as fn(u64) -> Answer))
});

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    CLIENT.clone().ready().await?.call(id).await
}
