//! A web service as many are: it asks a neighbour over HTTP (reqwest), keeps what it hears in SQLite
//! (sqlx), refreshes it by a job (retry-workflow), and shows Prometheus how all that goes (axum).
//! Its policies, its breaker and its quota come from `service.toml`.

pub mod config;
pub mod database;
pub mod error;
pub mod refresh;
pub mod service;
pub mod upstream;
