//! The library's metrics, for a dashboard: in the format that Prometheus scrapes over HTTP.
//!
//! `cargo run --example metrics` makes some calls that fail by script, prints what Prometheus would
//! read, and ends. With `--serve`, it serves that until its standard input ends: `cargo run
//! --example metrics -- --serve`.

use std::io;
use std::net::Ipv4Addr;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use retry_runtime::{
    BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, metrics as retry_metrics,
    retry,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

// ── The functions that are measured ─────────────────────────────────────────

/// Succeeds on the third call.
#[retry(attempts = 4, initial_delay = "10ms", name = "shop.order")]
async fn order(calls: &mut u32) -> Result<(), String> {
    *calls += 1;
    if *calls < 3 { Err("503 Service Unavailable".to_owned()) } else { Ok(()) }
}

static STOCK: CircuitBreaker =
    CircuitBreaker::new("stock", BreakerConfig::new().failure_threshold(3));

/// Never succeeds, and its breaker soon stops admitting calls.
#[retry(attempts = 5, initial_delay = "10ms", breaker = STOCK, name = "shop.stock")]
async fn stock() -> Result<(), RetryError<io::Error>> {
    Err(io::ErrorKind::ConnectionRefused.into())
}

/// 12 tokens for the retries of all calls, at 5 tokens each.
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().capacity(12));

/// Never succeeds either, and soon uses up the quota for its retries.
#[retry(attempts = 5, initial_delay = "10ms", quota = OUTBOUND, name = "shop.price")]
async fn price() -> Result<(), RetryError<io::Error>> {
    Err(io::ErrorKind::ConnectionReset.into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let exporter = install()?;
    retry_metrics::describe();
    retry_metrics::register();

    order(&mut 0).await?;
    for _ in 0..2 {
        println!("stock: {}", stock().await.unwrap_err());
        println!("price: {}", price().await.unwrap_err());
    }

    if std::env::args().any(|argument| argument == "--serve") {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("http://{}/metrics", listener.local_addr()?);
        tokio::spawn(serve(listener, exporter));
        tokio::task::spawn_blocking(|| io::read_to_string(io::stdin())).await??;
        return Ok(());
    }
    // Skip the zeros, which are most of the metrics.
    let page = exporter.render();
    for line in page.lines().filter(|line| line.contains("retry_") && !line.ends_with(" 0")) {
        println!("{line}");
    }
    Ok(())
}

// ── The exporter ────────────────────────────────────────────────────────────

/// From here on, all metrics of this program go to the exporter.
fn install() -> Result<PrometheusHandle, BuildError> {
    let waits = Matcher::Full("retry_wait_seconds".to_owned());
    PrometheusBuilder::new()
        // Without buckets, a histogram is served as quantiles, which cannot be aggregated.
        .set_buckets_for_metric(waits, &[0.01, 0.1, 1.0, 10.0])?
        .install_recorder()
}

/// By hand, so that this example needs no server crate: yours has a route for it.
async fn serve(listener: TcpListener, exporter: PrometheusHandle) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        // Histograms are aggregated now rather than at each wait.
        exporter.run_upkeep();
        tokio::spawn(answer(stream, exporter.render()));
    }
}

async fn answer(stream: TcpStream, page: String) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    // The head ends with an empty line: "\r\n" and nothing else.
    while stream.read_line(&mut request).await? > 2 {}
    let length = page.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all((head + &page).as_bytes()).await
}
