//! The attribute with time limits, a breaker and matchers.

use std::io;

use retry_runtime::{BreakerConfig, CircuitBreaker, retry};
use tokio::net::TcpStream;

static SERVER: CircuitBreaker = CircuitBreaker::new("server", BreakerConfig::new());

#[rustfmt::skip]
macro_rules! site {
    ($name:ident, $address:literal) => {
        #[retry(
            attempts = 5,
            jitter,
            retry_on = [network, timeout],
            timeout = "2s",
            deadline = "10s",
            breaker = SERVER
        )]
        async fn $name() -> io::Result<TcpStream> {
            TcpStream::connect($address).await
        }
    };
}

retry_benches_weight::sites!(site);
