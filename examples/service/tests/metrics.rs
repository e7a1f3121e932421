//! The metrics that Prometheus scrapes from the service. Its recorder counts for the whole process,
//! so this test has one to itself.

mod scene;

use std::sync::Arc;

use exchange_rates::service::routes;
use metrics_exporter_prometheus::PrometheusBuilder;

use scene::{BUSY, OK, scene, serve};

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
    for line in [
        r#"retry_attempts_total{name="upstream.rate"} 2"#,
        r#"retry_retries_total{name="upstream.rate"} 1"#,
        r#"retry_recoveries_total{name="upstream.rate"} 1"#,
    ] {
        assert!(page.lines().any(|other| other == line), "no `{line}` in\n{page}");
    }
    assert_eq!(scene.retries.attempts("upstream.rate").len(), 2);
}
