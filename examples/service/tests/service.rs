//! The service against an upstream that fails by script.

mod scene;

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use exchange_rates::config::Config;
use exchange_rates::error::RateError;
use exchange_rates::refresh::refresh;
use retry_runtime::Interrupted;

use scene::{BUSY, OK, scene};

const MISSING: StatusCode = StatusCode::NOT_FOUND;

#[tokio::test]
async fn a_visitor_gets_the_rate_of_an_upstream_that_recovers() {
    let scene = scene([("EUR", &[BUSY, BUSY, OK])]).await;
    assert_eq!(scene.service.rate("EUR").await.unwrap(), 1.25);
    let waits = scene.retries.waits("upstream.rate");
    assert_eq!(waits.len(), 2);
    let second = Duration::from_secs(1);
    assert!(waits.iter().all(|wait| *wait >= second), "the upstream asked for one: {waits:?}");
}

#[tokio::test]
async fn an_unknown_currency_is_requested_once() {
    let scene = scene([("XXX", &[MISSING])]).await;
    assert!(matches!(scene.service.rate("XXX").await, Err(RateError::Unknown(_))));
    assert_eq!(scene.retries.attempts("upstream.rate").len(), 1);
}

#[tokio::test]
async fn in_an_outage_a_visitor_gets_the_last_rate() {
    let scene = scene([("EUR", &[OK, BUSY])]).await;
    scene.service.rate("EUR").await.unwrap();
    assert_eq!(scene.service.rate("EUR").await.unwrap(), 1.25);
    assert_eq!(scene.retries.attempts("upstream.rate").len(), 1 + 4);
}

#[tokio::test]
async fn a_long_outage_opens_the_breaker() {
    let scene = scene([("EUR", &[BUSY])]).await;
    for _ in 0..5 {
        let error = scene.service.rate("EUR").await.unwrap_err();
        assert!(matches!(error, RateError::Status(_)), "{error:?}");
    }
    let error = scene.service.rate("EUR").await.unwrap_err();
    assert!(
        matches!(error, RateError::Interrupted(Interrupted::CircuitOpen { .. })),
        "20 calls failed, so the next is not made: {error:?}"
    );
}

#[tokio::test]
async fn a_locked_database_is_tried_again() {
    let scene = scene([]).await;
    scene.service.database.keep("EUR", 1.0).await.unwrap();
    // A writer of another process holds the lock until the second attempt is on its way.
    let other = sqlx::SqlitePool::connect_lazy_with(
        sqlx::sqlite::SqliteConnectOptions::new().filename(&scene.service.config.database),
    );
    let mut lock = other.acquire().await.unwrap();
    sqlx::query("begin exclusive").execute(&mut *lock).await.unwrap();
    let error = scene.service.database.keep("EUR", 2.0).await.unwrap_err();
    assert!(matches!(error, RateError::Database(_)), "{error:?}");
    assert_eq!(
        scene.retries.attempts("database.keep").len(),
        1 + 6,
        "every attempt found it locked"
    );
    sqlx::query("rollback").execute(&mut *lock).await.unwrap();
    scene.service.database.keep("EUR", 3.0).await.unwrap();
    assert_eq!(scene.service.database.rate("EUR").await.unwrap(), Some(3.0));
}

/// The waits of a job are kept in its store, so this one takes the second that the upstream asks for.
#[tokio::test]
async fn the_job_keeps_currencies_that_failed_to_refresh_as_dead_letters() {
    let scene = scene([("EUR", &[BUSY, OK]), ("XXX", &[MISSING])]).await;
    let currencies = ["EUR", "USD", "XXX"].map(str::to_owned).to_vec();
    let report = refresh(Arc::clone(&scene.service), currencies).await.unwrap();
    assert_eq!((report.counts.succeeded, report.dead()), (2, 1), "{report}");
    assert_eq!(report.counts.attempts, 2 + 1 + 1, "{report}");
    assert_eq!(scene.service.database.rate("EUR").await.unwrap(), Some(1.25));
}

#[test]
fn a_wrong_setting_is_reported_when_the_file_is_read() {
    let text = include_str!("../service.toml").replace("attempts = 4", "attempts = 0");
    let error = toml::from_str::<Config>(&text).unwrap_err().to_string();
    assert!(error.contains("at least 1"), "{error}");
}
