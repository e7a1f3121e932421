//! The body alone.

use std::io;

use tokio::net::TcpStream;

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> io::Result<TcpStream> {
            TcpStream::connect($address).await
        }
    };
}

retry_benches_weight::sites!(site);
