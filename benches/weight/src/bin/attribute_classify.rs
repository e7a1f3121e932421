//! The attribute with matchers, and an error that states its own class.

use std::{fmt, io};

use retry_runtime::{Class, Classify, retry};
use tokio::net::TcpStream;

#[derive(Debug)]
pub struct Own(pub io::Error);

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not connected")
    }
}

impl Classify for Own {
    fn class(&self) -> Class {
        let is_refused = self.0.kind() == io::ErrorKind::ConnectionRefused;
        if is_refused { Class::CONNECT } else { Class::empty() }
    }
}

macro_rules! site {
    ($name:ident, $address:literal) => {
        #[retry(attempts = 5, jitter, retry_on = [network, timeout])]
        async fn $name() -> Result<TcpStream, Own> {
            TcpStream::connect($address).await.map_err(Own)
        }
    };
}

retry_benches_weight::sites!(site);
