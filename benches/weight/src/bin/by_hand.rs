//! A loop with delays, which reports nothing.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> io::Result<TcpStream> {
            let (mut attempt, mut delay) = (1, Duration::from_millis(100));
            loop {
                match TcpStream::connect($address).await {
                    Err(error)
                        if attempt < 5 && error.kind() == io::ErrorKind::ConnectionRefused => {}
                    ended => return ended,
                }
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(Duration::from_secs(10));
                attempt += 1;
            }
        }
    };
}

retry_benches_weight::sites!(site);
