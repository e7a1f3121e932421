//! seatbelt, for a failure of one kind: a layer around a function.

use std::io;
use std::sync::LazyLock;
use std::time::Duration;

use layered::{Execute, Service as _, Stack as _};
use seatbelt::retry::{Backoff, Retry};
use seatbelt::{RecoveryInfo, ResilienceContext};
use tick::Clock;
use tokio::net::TcpStream;

static CONTEXT: LazyLock<ResilienceContext<&'static str, io::Result<TcpStream>>> =
    LazyLock::new(|| ResilienceContext::new(Clock::new_tokio()));

macro_rules! site {
    ($name:ident, $address:literal) => {
        async fn $name() -> io::Result<TcpStream> {
            let layer = Retry::layer("retry", &CONTEXT)
                .max_retry_attempts(4)
                .backoff(Backoff::Exponential)
                .base_delay(Duration::from_millis(100))
                .clone_input()
                .recovery_with(|outcome, _| match outcome {
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                        RecoveryInfo::retry()
                    }
                    _ => RecoveryInfo::never(),
                });
            let connect = Execute::new(|address| TcpStream::connect::<&str>(address));
            (layer, connect).into_service().execute($address).await
        }
    };
}

retry_benches_weight::sites!(site);
