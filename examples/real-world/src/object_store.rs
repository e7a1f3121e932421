//! A client whose retries are configured at runtime, as those of object stores are.

use std::time::Duration;

use retry_runtime::retry;

use crate::api_error::ApiError;
use crate::remote::Remote;

/// The retries of a client, as its user configures them.
#[derive(Clone, Debug)]
pub struct RetryConfig {
    /// The number of times that a request is repeated.
    pub max_retries: usize,
    /// The time after which no attempt begins.
    pub retry_timeout: Duration,
    /// The first wait.
    pub init_backoff: Duration,
    /// The longest wait.
    pub max_backoff: Duration,
    /// The growth factor of the waits.
    pub base: f64,
}

/// A bucket.
#[derive(Debug)]
pub struct ObjectStore {
    /// The service to call.
    pub remote: Remote<String, ApiError>,
    /// The retries of its requests.
    pub retry: RetryConfig,
}

impl ObjectStore {
    /// Returns the object at a path.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = self.retry.max_retries.saturating_add(1),
        backoff = exponential(base = self.retry.base),
        initial_delay = self.retry.init_backoff,
        max_delay = self.retry.max_backoff,
        max_elapsed = self.retry.retry_timeout,
        retry_on = [network, timeout, server_error, rate_limit],
    )]
    pub async fn get(&self, path: &str) -> Result<String, ApiError> {
        self.remote.call(format!("GET {path}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    impl ObjectStore {
        async fn get_by_hand(&self, path: &str) -> Result<String, ApiError> {
            let began = Instant::now();
            let mut backoff = self.retry.init_backoff;
            let mut retries = 0;
            loop {
                let error = match self.remote.call(format!("GET {path}")).await {
                    Ok(object) => return Ok(object),
                    Err(error) => error,
                };
                if !error.is_transient() || retries == self.retry.max_retries {
                    return Err(error);
                }
                let wait = match error {
                    ApiError::Status { retry_after: Some(wait), .. } => wait,
                    _ => backoff,
                };
                if began.elapsed() + wait > self.retry.retry_timeout {
                    return Err(error);
                }
                sleep(wait).await;
                backoff = backoff.mul_f64(self.retry.base).min(self.retry.max_backoff);
                retries += 1;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_retries_as_configured_and_as_the_loop_does() {
        let busy = ApiError::Status { code: 429, retry_after: Some(ms(2_000)) };
        let refused = ApiError::Connection(ErrorKind::ConnectionRefused);
        let down = ApiError::status(503);
        let scripts: [(&[Answer<_, _>], &[u128]); 5] = [
            (&[Gives("one".to_owned())], &[0]),
            (&[Fails(refused), Fails(busy.clone()), Gives("one".to_owned())], &[0, 100, 2_100]),
            (&[Fails(ApiError::status(404))], &[0]),
            (&[const { Fails(ApiError::status(503)) }; 5], &[0, 100, 400, 900, 1_400]),
            (&[Fails(down), Fails(busy.clone()), Fails(busy)], &[0, 100, 2_100]),
        ];
        for (script, times) in scripts {
            let trace = async |by_hand: bool| {
                let retry = RetryConfig {
                    max_retries: 4,
                    retry_timeout: ms(3_000),
                    init_backoff: ms(100),
                    max_backoff: ms(500),
                    base: 3.0,
                };
                let store = ObjectStore { remote: Remote::new(script.to_vec()), retry };
                let path = "a/b";
                let result =
                    if by_hand { store.get_by_hand(path).await } else { store.get(path).await };
                (result, store.remote.times(), store.remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, times);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
