//! The attribute with matchers, which read the kind of a failure.

use std::io;

use retry_runtime::retry;
use tokio::net::TcpStream;

macro_rules! site {
    ($name:ident, $address:literal) => {
        #[retry(attempts = 5, jitter, retry_on = [network, timeout])]
        async fn $name() -> io::Result<TcpStream> {
            TcpStream::connect($address).await
        }
    };
}

retry_benches_weight::sites!(site);
