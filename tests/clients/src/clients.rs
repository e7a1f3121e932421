//! The failures of each client. A file is a client.

mod async_nats;
mod aws_sdk;
mod hyper_util;
mod lapin;
mod lettre;
mod memcache;
mod modbus;
mod mysql;
mod object_store;
mod postgres;
mod redis;
mod reqwest;
mod rumqttc;
mod sqlite;
mod sqlx_postgres;
#[cfg(feature = "typed")]
mod status_error;
mod tokio_postgres;
mod tonic;
mod tungstenite;
mod ureq;

use std::time::Duration;

use crate::suite::Suite;

pub(crate) async fn all(suite: &mut Suite) {
    match crate::servers::postgres::Postgres::start().await {
        Some(server) => {
            let holder = postgres::Holder::start(&server).await;
            tokio_postgres::run(suite, &server).await;
            sqlx_postgres::run(suite, &server).await;
            drop(holder);
        }
        None => suite.skip("Postgres"),
    }
    reqwest::run(suite).await;
    #[cfg(feature = "typed")]
    status_error::run(suite).await;
    hyper_util::run(suite).await;
    ureq::run(suite).await;
    tonic::run(suite).await;
    lettre::run(suite).await;
    redis::run(suite).await;
    mysql::run(suite).await;
    sqlite::run(suite).await;
    tungstenite::run(suite).await;
    async_nats::run(suite).await;
    rumqttc::run(suite).await;
    object_store::run(suite).await;
    aws_sdk::run(suite).await;
    lapin::run(suite).await;
    memcache::run(suite).await;
    modbus::run(suite).await;
}

/// The time limit for an answer that comes: on a busy machine too, or it would be another failure.
const PATIENT: Duration = Duration::from_secs(5);
/// The time limit for an answer that does not come.
const IMPATIENT: Duration = Duration::from_millis(50);

/// Nothing listens there.
const REFUSED: &str = "127.0.0.1:1";
