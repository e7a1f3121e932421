//! The first example of the README, which prints its retries: `cargo run -p quickstart --bin first`.

use std::io;

use retry_runtime::retry;
use tokio::net::TcpStream;

/// At most 4 calls, 100 ms, 200 ms and 400 ms apart, each wait spread by ±30 %.
#[retry(
    attempts = 4,
    initial_delay = "100ms",
    jitter,
    retry_on = [network, timeout],
    on_retry = |event| eprintln!("{event}"),
)]
async fn connect(address: &str) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

#[tokio::main]
async fn main() -> io::Result<()> {
    connect("127.0.0.1:1").await?;
    Ok(())
}
