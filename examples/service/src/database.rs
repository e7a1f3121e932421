//! The rates as they were last heard.

use std::sync::Arc;
use std::time::Duration;

use retry_runtime::retry;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use crate::config::Config;
use crate::error::RateError;

pub struct Database {
    config: Arc<Config>,
    pool: SqlitePool,
}

impl Database {
    pub async fn open(config: Arc<Config>) -> Result<Self, sqlx::Error> {
        // A locked database is reported at once: how long to wait for it is the policy's to say.
        let options = SqliteConnectOptions::new()
            .filename(&config.database)
            .create_if_missing(true)
            .busy_timeout(Duration::ZERO);
        let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options).await?;
        sqlx::query(
            "create table if not exists rate (currency text primary key, rate real not null)",
        )
        .execute(&pool)
        .await?;
        Ok(Self { config, pool })
    }

    #[retry(name = "database.rate", policy = self.config.database_calls)]
    pub async fn rate(&self, currency: &str) -> Result<Option<f64>, RateError> {
        let rate = sqlx::query_scalar("select rate from rate where currency = ?")
            .bind(currency)
            .fetch_optional(&self.pool)
            .await?;
        Ok(rate)
    }

    #[retry(name = "database.keep", policy = self.config.database_calls)]
    pub async fn keep(&self, currency: &str, rate: f64) -> Result<(), RateError> {
        sqlx::query("insert or replace into rate (currency, rate) values (?, ?)")
            .bind(currency)
            .bind(rate)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
