//! `Retrier` with a time limit, a breaker and matchers.

use std::io;
use std::sync::LazyLock;
use std::time::Duration;

use retry_runtime::matchers::{network, timeout};
use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Retrier, RetryError};
use tokio::net::TcpStream;

static SERVER: CircuitBreaker = CircuitBreaker::new("server", BreakerConfig::new());

static CALLS: LazyLock<Retrier> = LazyLock::new(|| {
    let policy = Policy::new().attempts(5).timeout(Duration::from_secs(2));
    Retrier::new(policy).retry_on([network, timeout]).breaker(&SERVER)
});

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> Result<TcpStream, RetryError<io::Error>> {
            CALLS.run(|| TcpStream::connect($address)).await
        }
    };
}

retry_benches_weight::sites!(site);
