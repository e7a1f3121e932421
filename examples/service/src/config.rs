//! The settings of the service, all in one file.

use std::net::SocketAddr;
use std::path::PathBuf;

use retry_runtime::{BreakerConfig, QuotaConfig, RetryConfig};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub listen: SocketAddr,
    pub upstream: String,
    pub database: PathBuf,
    pub upstream_calls: RetryConfig,
    pub upstream_breaker: BreakerConfig,
    pub upstream_quota: QuotaConfig,
    pub database_calls: RetryConfig,
    pub refresh: RetryConfig,
}
