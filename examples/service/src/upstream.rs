//! The neighbour that knows the rates.

use std::sync::Arc;

use retry_runtime::http::check;
use retry_runtime::{CircuitBreaker, RetryQuota, retry};
use serde::Deserialize;

use crate::config::Config;
use crate::error::RateError;

pub struct Upstream {
    config: Arc<Config>,
    client: reqwest::Client,
    breaker: CircuitBreaker,
    quota: RetryQuota,
}

#[derive(Deserialize)]
struct Answer {
    rate: f64,
}

impl Upstream {
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            client: reqwest::Client::new(),
            breaker: CircuitBreaker::new("upstream", config.upstream_breaker),
            quota: RetryQuota::new("upstream", config.upstream_quota),
            config,
        }
    }

    /// Asks for a rate, for a visitor who waits.
    #[retry(
        name = "upstream.rate",
        policy = self.config.upstream_calls,
        breaker = self.breaker,
        quota = self.quota,
    )]
    pub async fn rate(&self, currency: &str) -> Result<f64, RateError> {
        self.ask(currency).await
    }

    /// Asks once, for a caller that has retries of its own.
    pub async fn ask(&self, currency: &str) -> Result<f64, RateError> {
        let url = format!("{}/rates/{currency}", self.config.upstream);
        let response = self.client.get(url).send().await?;
        if response.status() == reqwest::StatusCode::NOT_FOUND {
            return Err(RateError::Unknown(currency.to_owned()));
        }
        Ok(check(response)?.json::<Answer>().await?.rate)
    }
}
