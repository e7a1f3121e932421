//! `QuotaConfig::share`: a retry that is not made returns its place in the share.

use std::future::Future;
use std::pin::Pin;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Policy, QuotaConfig, Retrier, RetryError, RetryQuota,
    policy, retry,
};
use tokio::time::timeout;

use crate::support::{Failure, millis, secs};

const POLICY: Policy = policy!(attempts = 3, initial_delay = "1s");
/// The retries that a share always allows in ten seconds.
const FREE: usize = 10;

struct Client {
    breaker: CircuitBreaker,
    quota: RetryQuota,
}

impl Client {
    fn new(failures: u32) -> Self {
        Self {
            breaker: CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(failures)),
            quota: RetryQuota::new("out", QuotaConfig::new().share(0.1)),
        }
    }

    #[retry(policy = POLICY, breaker = self.breaker, quota = self.quota)]
    async fn fetch(&self) -> Result<u32, RetryError<Failure>> {
        Err(Failure::Busy(1))
    }

    fn left(&self) -> usize {
        std::iter::from_fn(|| self.quota.try_acquire(Class::empty())).count()
    }
}

type Called = Pin<Box<dyn Future<Output = Result<u32, RetryError<Failure>>>>>;

/// Makes a call by a function and by a retrier, and returns the rest of each share.
async fn left_after<F: Future>(failures: u32, end: impl Fn(Called) -> F) -> [usize; 2] {
    let client: &Client = Box::leak(Box::new(Client::new(failures)));
    end(Box::pin(client.fetch())).await;
    let other: &Client = Box::leak(Box::new(Client::new(failures)));
    let retrier = Retrier::new(POLICY).opaque().breaker(&other.breaker).quota(&other.quota);
    let retrier: &Retrier<_> = Box::leak(Box::new(retrier));
    end(Box::pin(retrier.run(async || Err(Failure::Busy(1))))).await;
    [client.left(), other.left()]
}

#[tokio::test(start_paused = true)]
async fn retries_that_are_made_use_up_the_share() {
    assert_eq!(left_after(9, |call| call).await, [FREE - 2; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_returns_its_part_of_the_share() {
    let left = left_after(9, |call| timeout(millis(500), call)).await;
    assert_eq!(left, [FREE; 2], "it is dropped during the first wait");
    let left = left_after(9, |call| timeout(secs(2), call)).await;
    assert_eq!(left, [FREE - 1; 2], "it is dropped during the second wait");
}

#[tokio::test(start_paused = true)]
async fn a_call_ended_by_the_breaker_returns_its_part_of_the_share() {
    assert_eq!(left_after(1, |call| call).await, [FREE; 2]);
}
