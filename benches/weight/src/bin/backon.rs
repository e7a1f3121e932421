//! backon, for a failure of one kind.

use std::io;

use backon::{ExponentialBuilder, Retryable as _};
use tokio::net::TcpStream;

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> io::Result<TcpStream> {
            (|| TcpStream::connect($address))
                .retry(ExponentialBuilder::new().with_jitter().with_max_times(4))
                .when(|error| error.kind() == io::ErrorKind::ConnectionRefused)
                .await
        }
    };
}

retry_benches_weight::sites!(site);
