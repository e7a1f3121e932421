//! The work of the service, and its routes.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use metrics_exporter_prometheus::PrometheusHandle;

use crate::config::Config;
use crate::database::Database;
use crate::error::RateError;
use crate::upstream::Upstream;

pub struct Service {
    pub config: Arc<Config>,
    pub upstream: Upstream,
    pub database: Database,
}

impl Service {
    pub async fn new(config: Config) -> Result<Self, sqlx::Error> {
        let config = Arc::new(config);
        Ok(Self {
            upstream: Upstream::new(Arc::clone(&config)),
            database: Database::open(Arc::clone(&config)).await?,
            config,
        })
    }

    /// The rate as the upstream has it now, or else as it was last heard.
    pub async fn rate(&self, currency: &str) -> Result<f64, RateError> {
        match self.upstream.rate(currency).await {
            Ok(rate) => {
                self.database.keep(currency, rate).await?;
                Ok(rate)
            }
            Err(error @ RateError::Unknown(_)) => Err(error),
            Err(error) => self.database.rate(currency).await?.ok_or(error),
        }
    }
}

/// The routes: a rate, and what Prometheus scrapes.
pub fn routes(service: Arc<Service>, metrics: PrometheusHandle) -> Router {
    Router::new().route("/rates/{currency}", get(rate)).with_state(service).route(
        "/metrics",
        get(async move || {
            metrics.run_upkeep();
            metrics.render()
        }),
    )
}

async fn rate(
    State(service): State<Arc<Service>>,
    Path(currency): Path<String>,
) -> Result<Json<f64>, RateError> {
    service.rate(&currency).await.map(Json)
}
