//! A service in trouble, and its board: annotated functions whose dependencies fail by script, a
//! job that runs, fails and waits, and a graph of tasks.
//!
//! Run `cargo run --example board`, and open the address that it prints. `--for 60s` ends it after
//! a minute, `--listen 127.0.0.1:7878` sets the address.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use retry_board::Board;
use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry,
};
use retry_workflow::{ErrorPolicy, Graph, SqliteStore, Task, Workflow, keyed, policy};
use tokio::time::sleep;

static BANK: CircuitBreaker = CircuitBreaker::new(
    "bank",
    BreakerConfig::new().failure_threshold(4).timeout(Duration::from_secs(8)),
);
static WAREHOUSES: Breakers<String> = Breakers::new("warehouses", BreakerConfig::new(), 100);
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

/// The script: times when all is well alternate with times of trouble.
fn is_trouble(began: Instant) -> bool {
    began.elapsed().as_secs() % 20 >= 6
}

#[retry(attempts = 5, initial_delay = "200ms", jitter, breaker = BANK, quota = OUTBOUND, name = "shop.charge")]
async fn charge(order: u64, is_down: bool) -> io::Result<u64> {
    if is_down && !order.is_multiple_of(5) {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(order)
}

#[retry(attempts = 4, backoff = fibonacci, initial_delay = "100ms", quota = OUTBOUND, breaker = WAREHOUSES.of(warehouse), name = "shop.reserve")]
async fn reserve(warehouse: &str, is_slow: bool) -> Result<u32, RetryError<String>> {
    if is_slow && warehouse == "leipzig" {
        return Err(format!("{warehouse} does not answer"));
    }
    Ok(1)
}

#[retry(attempts = 6, backoff = linear(increment = "100ms"), initial_delay = "100ms", budget = "2s", name = "shop.mail")]
async fn mail(n: u64) -> Result<(), String> {
    if n % 3 == 1 { Err("421 try again later".to_owned()) } else { Ok(()) }
}

/// Customers call continuously.
async fn traffic(began: Instant) {
    for n in 0_u64.. {
        let trouble = is_trouble(began);
        tokio::spawn(async move { charge(n, trouble).await });
        let warehouse = if n.is_multiple_of(2) { "leipzig" } else { "lyon" };
        tokio::spawn(async move { reserve(warehouse, trouble).await });
        tokio::spawn(mail(n));
        sleep(Duration::from_millis(250)).await;
    }
}

/// A job with many items, some of which fail in different ways.
async fn import(store: SqliteStore) {
    let countries = ["DE", "FR", "UK", "US", "CH"];
    let orders = keyed(1..=6_000_u32, |n| format!("order-{n}"));
    let report = Workflow::new("import-orders")
        .error_policy(ErrorPolicy::new().circuit_breaker(
            BreakerConfig::new().failure_threshold(6).timeout(Duration::from_secs(5)),
        ))
        .retry(policy!(attempts = 3, initial_delay = "300ms", jitter))
        .max_parallel(6)
        .store(store)
        .run(orders, move |n: u32, cx| async move {
            sleep(Duration::from_millis(60 + u64::from(n % 7) * 20)).await;
            let country = countries[n as usize % 5];
            match n {
                _ if n.is_multiple_of(23) => Err(format!("order {n}: no tax rate for {country:?}")),
                _ if n.is_multiple_of(17) && cx.attempt() < 3 => {
                    Err(format!("order {n}: the connection was reset"))
                }
                _ if n.is_multiple_of(41) => {
                    Err(format!("order {n}: no answer after {}s", n % 30 + 1))
                }
                _ if n.is_multiple_of(97) => panic!("order {n} has no lines"),
                _ => Ok(format!("{{\"invoice\": {}}}", n * 7)),
            }
        })
        .await;
    if let Err(error) = report {
        println!("the import ended: {error}");
    }
}

/// Tasks that depend on one another: one fails, and its dependents are skipped.
async fn release(store: SqliteStore) {
    let quick = |name: &'static str, needs: &'static [&'static str]| {
        Task::new(name, move |_| async move {
            sleep(Duration::from_secs(2)).await;
            Ok::<_, String>(())
        })
        .depends_on(needs.iter().copied())
    };
    let graph = Graph::new("release")
        .store(store)
        .task(quick("fetch", &[]))
        .task(quick("compile", &["fetch"]))
        .task(quick("test", &["compile"]))
        .task(
            Task::new("render docs", |_| async { Err::<(), _>("no template for \"guide\"") })
                .max_retries(2)
                .depends_on(["fetch"]),
        )
        .task(quick("publish docs", &["render docs", "test"]))
        .task(quick("package", &["test"]))
        .task(quick("announce", &["publish docs", "package"]));
    if let Err(error) = graph.run().await {
        println!("the release ended: {error}");
    }
}

struct Arguments {
    listen: SocketAddr,
    time: Option<Duration>,
}

fn arguments() -> Result<Arguments, Box<dyn std::error::Error>> {
    let mut arguments = Arguments { listen: "127.0.0.1:0".parse()?, time: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--listen" => arguments.listen = value.parse()?,
            "--for" => {
                let seconds = value.strip_suffix('s').ok_or("write seconds, such as --for 60s")?;
                arguments.time = Some(Duration::from_secs(seconds.parse()?));
            }
            _ => return Err(format!("{word} is unknown: --listen ADDRESS, --for 60s").into()),
        }
    }
    Ok(arguments)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { listen, time } = arguments()?;
    let store = SqliteStore::in_memory();
    // A handler that panics is a failure of its item, and not worth printing here.
    std::panic::set_hook(Box::new(|_| {}));
    tokio::spawn(traffic(Instant::now()));
    tokio::spawn(import(store.clone()));
    tokio::spawn(release(store.clone()));

    let board = Board::new().allow_actions().breaker(&BANK).breakers(&WAREHOUSES).quota(&OUTBOUND);
    let app = axum::Router::new().nest_service("/retry", board.jobs(store).merge(board.policies()));
    let listener = tokio::net::TcpListener::bind(listen).await?;
    println!("look at http://{}/retry/jobs", listener.local_addr()?);
    let served = axum::serve(listener, app).into_future();
    match time {
        Some(time) => {
            let _ = tokio::time::timeout(time, served).await;
            println!("that was {}s", time.as_secs());
        }
        None => served.await?,
    }
    Ok(())
}
