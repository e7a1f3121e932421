//! tokio-retry2, for a failure of one kind.

use std::io;

use tokio::net::TcpStream;
use tokio_retry2::strategy::{ExponentialBackoff, jitter};
use tokio_retry2::{Retry, RetryError};

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> io::Result<TcpStream> {
            Retry::spawn(ExponentialBackoff::from_millis(100).map(jitter).take(4), async || {
                TcpStream::connect($address).await.map_err(|error| match error.kind() {
                    io::ErrorKind::ConnectionRefused => RetryError::transient(error),
                    _ => RetryError::permanent(error),
                })
            })
            .await
        }
    };
}

retry_benches_weight::sites!(site);
