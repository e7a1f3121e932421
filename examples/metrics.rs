//! What the library counts, on a dashboard: served in the format of Prometheus,
//! and scraped over HTTP as Prometheus would.
//!
//! `cargo run --example metrics` makes some calls that fail by script, scrapes
//! itself, prints what it reads and ends. With `--serve` it goes on serving until
//! its standard input ends: `cargo run --example metrics -- --serve`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusRecorder};
use retry_runtime::{
    BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, metrics as retry_metrics,
    retry,
};

// ── The functions that are measured ─────────────────────────────────────────

/// It works at the third call.
#[retry(attempts = 4, initial_delay = "10ms", name = "shop.order")]
async fn order(calls: &mut u32) -> Result<(), String> {
    *calls += 1;
    if *calls < 3 { Err("503 Service Unavailable".to_owned()) } else { Ok(()) }
}

static STOCK: CircuitBreaker =
    CircuitBreaker::new("stock", BreakerConfig::new().failure_threshold(3));

/// It never works, and its breaker soon admits no calls.
#[retry(attempts = 5, initial_delay = "10ms", breaker = STOCK, name = "shop.stock")]
async fn stock() -> Result<(), RetryError<io::Error>> {
    Err(io::ErrorKind::ConnectionRefused.into())
}

/// 12 tokens for the retries of all calls, at 5 tokens each.
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().capacity(12));

/// It never works either, and its retries are soon used up.
#[retry(attempts = 5, initial_delay = "10ms", quota = OUTBOUND, name = "shop.price")]
async fn price() -> Result<(), RetryError<io::Error>> {
    Err(io::ErrorKind::ConnectionReset.into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = serve().await?;
    retry_metrics::describe();
    retry_metrics::register();

    order(&mut 0).await?;
    for _ in 0..2 {
        println!("stock: {}", stock().await.unwrap_err());
        println!("price: {}", price().await.unwrap_err());
    }

    println!("http://{address}/metrics");
    if std::env::args().any(|argument| argument == "--serve") {
        tokio::task::spawn_blocking(|| io::read_to_string(io::stdin())).await??;
        return Ok(());
    }
    // A proxy of the environment has no business on loopback.
    let http = reqwest::Client::builder().no_proxy().build()?;
    let scraped = http.get(format!("http://{address}/metrics")).send().await?.text().await?;
    // Of all that can be counted most is at zero.
    for line in scraped.lines().filter(|line| line.contains("retry_") && !line.ends_with(" 0")) {
        println!("{line}");
    }
    Ok(())
}

// ── The exporter ────────────────────────────────────────────────────────────

/// Serves all metrics of this program on a port of loopback that is free.
async fn serve() -> Result<SocketAddr, Box<dyn std::error::Error>> {
    let (address, recorder) = listen().await?;
    metrics::set_global_recorder(recorder)?;
    Ok(address)
}

/// The exporter does not tell which port it was given, so one is found for it. In
/// between somebody else may take it: what else is there to do but to try again?
#[retry(attempts = 5, initial_delay = "1ms")]
async fn listen() -> Result<(SocketAddr, PrometheusRecorder), BuildError> {
    let reserved = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = reserved.and_then(|listener| listener.local_addr()).expect("loopback has a port");
    let waits = Matcher::Full("retry_wait_seconds".to_owned());
    let (recorder, exporter) = PrometheusBuilder::new()
        .with_http_listener(address)
        // Without bounds a histogram is served as quantiles, which cannot be added up.
        .set_buckets_for_metric(waits, &[0.01, 0.1, 1.0, 10.0])?
        .build()?;
    tokio::spawn(exporter);
    Ok((address, recorder))
}
