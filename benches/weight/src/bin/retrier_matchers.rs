//! `Retrier` with matchers.

use std::io;
use std::sync::LazyLock;

use retry_runtime::matchers::{network, timeout};
use retry_runtime::{Policy, Retrier, RetryError};
use tokio::net::TcpStream;

static CALLS: LazyLock<Retrier> =
    LazyLock::new(|| Retrier::new(Policy::new().attempts(5)).retry_on([network, timeout]));

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> Result<TcpStream, RetryError<io::Error>> {
            CALLS.run(|| TcpStream::connect($address)).await
        }
    };
}

retry_benches_weight::sites!(site);
