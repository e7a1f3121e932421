//! A client of an API that limits its callers: a quota limits the load that the retries of all
//! calls add together, and refills with time.

use retry_runtime::{RetryQuota, retry};

use crate::api_error::ApiError;
use crate::remote::Remote;

/// A client of one shop.
#[derive(Debug)]
pub struct ShopApi {
    /// The service to call.
    pub remote: Remote<u32, ApiError>,
    /// The quota that pays for its retries.
    pub retries: RetryQuota,
}

impl ShopApi {
    /// Returns how many of an item there are.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = 4,
        initial_delay = "200ms",
        retry_on = [network, timeout, server_error, rate_limit],
        quota = self.retries,
    )]
    pub async fn stock(&self, item: &str) -> Result<u32, ApiError> {
        self.remote.call(format!("GET /stock/{item}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use retry_runtime::QuotaConfig;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::remote::Answer::{Fails, Gives};
    use crate::remote::ms;

    const QUOTA: QuotaConfig = QuotaConfig::new().capacity(12).refill_per_sec(0.5);

    struct Bucket {
        tokens: f64,
        filled: Instant,
    }

    struct ByHand {
        remote: Remote<u32, ApiError>,
        bucket: Mutex<Bucket>,
    }

    impl ByHand {
        async fn stock_by_hand(&self, item: &str) -> Result<u32, ApiError> {
            let mut backoff = ms(200);
            let mut paid = None;
            for attempt in 1.. {
                let error = match self.remote.call(format!("GET /stock/{item}")).await {
                    Ok(count) => {
                        let mut bucket = self.bucket.lock().expect("nobody panics");
                        bucket.tokens = (bucket.tokens + paid.unwrap_or(1.0)).min(12.0);
                        return Ok(count);
                    }
                    Err(error) => error,
                };
                if !error.is_transient() || attempt == 4 {
                    return Err(error);
                }
                {
                    let mut bucket = self.bucket.lock().expect("nobody panics");
                    let since = bucket.filled.elapsed().as_secs_f64();
                    bucket.filled = Instant::now();
                    bucket.tokens = (bucket.tokens + since * 0.5).min(12.0);
                    if bucket.tokens < 5.0 {
                        return Err(error);
                    }
                    bucket.tokens -= 5.0;
                    paid = Some(5.0);
                }
                let wait = match error {
                    ApiError::Status { retry_after: Some(wait), .. } => wait,
                    _ => backoff,
                };
                sleep(wait).await;
                backoff *= 2;
            }
            unreachable!("the last attempt returns")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_empties_the_quota_and_time_fills_it() {
        let fails = || Fails(ApiError::status(503));
        let limited = || Fails(ApiError::Status { code: 429, retry_after: Some(ms(3_000)) });
        let script = || {
            Remote::new(vec![
                // 12 tokens: two retries are paid for, the third is not.
                fails(),
                fails(),
                fails(),
                // Immediately afterwards, nothing is left for a retry.
                fails(),
                // 10 s later, there is enough for a retry that succeeds, and is therefore refunded.
                limited(),
                Gives(7),
                limited(),
                Gives(8),
            ])
        };
        let shop = ShopApi { remote: script(), retries: RetryQuota::new("shop", QUOTA) };
        let by_hand = ByHand {
            remote: script(),
            bucket: Mutex::new(Bucket { tokens: 12.0, filled: Instant::now() }),
        };

        let mut annotated = Vec::new();
        for pause in [0, 0, 10_000, 0] {
            sleep(ms(pause)).await;
            annotated.push(shop.stock("tea").await);
        }
        let times = shop.remote.times();
        assert_eq!(times, [0, 200, 600, 600, 10_600, 13_600, 13_600, 16_600]);

        let began = by_hand.remote.now();
        let mut looped = Vec::new();
        for pause in [0, 0, 10_000, 0] {
            sleep(ms(pause)).await;
            looped.push(by_hand.stock_by_hand("tea").await);
        }
        assert_eq!(annotated, looped);
        let looped: Vec<_> = by_hand.remote.times().iter().map(|at| at - began).collect();
        assert_eq!(times, looped);
    }
}
