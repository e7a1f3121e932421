//! The service against an upstream that fails by script.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use exchange_rates::config::Config;
use exchange_rates::error::RateError;
use exchange_rates::refresh::refresh;
use exchange_rates::service::{Service, routes};
use metrics_exporter_prometheus::PrometheusBuilder;
use retry_runtime::Interrupted;
use retry_runtime::testing::{self, Testing};
use tempfile::TempDir;

type Script = Arc<Mutex<HashMap<String, Vec<StatusCode>>>>;

/// Answers each request for a currency with the next status of its script, and then with a rate.
async fn upstream(script: Script) -> String {
    async fn answer(State(script): State<Script>, Path(currency): Path<String>) -> Response {
        let mut script = script.lock().unwrap();
        let next = script.get_mut(&currency).and_then(|statuses| {
            if statuses.len() > 1 { Some(statuses.remove(0)) } else { statuses.first().copied() }
        });
        match next {
            None | Some(StatusCode::OK) => r#"{ "rate": 1.25 }"#.into_response(),
            Some(status) => (status, [("Retry-After", "1")]).into_response(),
        }
    }
    serve(Router::new().route("/rates/{currency}", get(answer)).with_state(script)).await
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

struct Scene {
    service: Arc<Service>,
    retries: Testing,
    _folder: TempDir,
}

/// The service with the file that it ships with, but for the addresses.
async fn scene<const N: usize>(script: [(&str, &[StatusCode]); N]) -> Scene {
    let script = script.map(|(currency, statuses)| (currency.to_owned(), statuses.to_vec()));
    let mut config: Config = toml::from_str(include_str!("../service.toml")).unwrap();
    config.upstream = upstream(Arc::new(Mutex::new(script.into()))).await;
    let folder = tempfile::tempdir().unwrap();
    config.database = folder.path().join("rates.db");
    let retries = testing::start();
    retries.skip_waits();
    let service = Arc::new(Service::new(config).await.unwrap());
    Scene { service, retries, _folder: folder }
}

const BUSY: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
const OK: StatusCode = StatusCode::OK;
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
async fn a_currency_that_nobody_knows_is_asked_for_once() {
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
async fn the_job_keeps_what_it_could_not_refresh() {
    let scene = scene([("EUR", &[BUSY, OK]), ("XXX", &[MISSING])]).await;
    let currencies = ["EUR", "USD", "XXX"].map(str::to_owned).to_vec();
    let report = refresh(Arc::clone(&scene.service), currencies).await.unwrap();
    assert_eq!((report.counts.succeeded, report.dead()), (2, 1), "{report}");
    assert_eq!(report.counts.attempts, 2 + 1 + 1, "{report}");
    assert_eq!(scene.service.database.rate("EUR").await.unwrap(), Some(1.25));
}

#[tokio::test]
async fn prometheus_sees_the_retries() {
    let metrics = PrometheusBuilder::new().install_recorder().unwrap();
    retry_runtime::metrics::register();
    let scene = scene([("EUR", &[BUSY, OK])]).await;
    let address = serve(routes(Arc::clone(&scene.service), metrics)).await;
    // Requests are answered by tasks of their own, on this thread.
    let rate = reqwest::get(format!("{address}/rates/EUR")).await.unwrap();
    assert_eq!(rate.text().await.unwrap(), "1.25");
    let page = reqwest::get(format!("{address}/metrics")).await.unwrap().text().await.unwrap();
    let line = page.lines().find(|line| line.contains("upstream.rate") && line.ends_with(" 1"));
    assert!(line.is_some(), "{page}");
}

#[test]
fn a_wrong_setting_is_reported_when_the_file_is_read() {
    let text = include_str!("../service.toml").replace("attempts = 4", "attempts = 0");
    let error = toml::from_str::<Config>(&text).unwrap_err().to_string();
    assert!(error.contains("at least 1"), "{error}");
}
