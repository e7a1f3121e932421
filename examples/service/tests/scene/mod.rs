//! The service against an upstream that fails by script.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use exchange_rates::config::Config;
use exchange_rates::service::Service;
use retry_runtime::testing::{self, Testing};
use tempfile::TempDir;

pub const BUSY: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
pub const OK: StatusCode = StatusCode::OK;

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

pub async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

pub struct Scene {
    pub service: Arc<Service>,
    pub retries: Testing,
    _folder: TempDir,
}

/// The service with the file that it ships with, but for the addresses.
pub async fn scene<const N: usize>(script: [(&str, &[StatusCode]); N]) -> Scene {
    let script = script.map(|(currency, statuses)| (currency.to_owned(), statuses.to_vec()));
    let mut config: Config = toml::from_str(include_str!("../../service.toml")).unwrap();
    config.upstream = upstream(Arc::new(Mutex::new(script.into()))).await;
    let folder = tempfile::tempdir().unwrap();
    config.database = folder.path().join("rates.db");
    let retries = testing::start();
    retries.skip_waits();
    let service = Arc::new(Service::new(config).await.unwrap());
    Scene { service, retries, _folder: folder }
}
