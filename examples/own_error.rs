//! Your own error type. With `Classify`, it states its class and how long the server asked to wait;
//! with `From<Interrupted>`, it can represent an attempt that the policy cut off.

use std::fmt;
use std::time::Duration;

use retry_runtime::{Class, Classify, Interrupted, classify, retry};

#[derive(Debug)]
enum ApiError {
    Status { code: u16, retry_after: Option<Duration> },
    Malformed,
    Interrupted(Interrupted),
}

impl Classify for ApiError {
    fn class(&self) -> Class {
        match self {
            Self::Status { code, .. } => classify::status(*code),
            Self::Malformed => Class::empty(),
            Self::Interrupted(interrupted) => classify::error(interrupted),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        if let Self::Status { retry_after, .. } = self { *retry_after } else { None }
    }
}

impl From<Interrupted> for ApiError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { code, .. } => write!(f, "HTTP {code}"),
            Self::Malformed => f.write_str("the answer makes no sense"),
            Self::Interrupted(interrupted) => interrupted.fmt(f),
        }
    }
}

/// The policy would wait 10 ms, but a wait that the server asks for takes precedence.
#[retry(
    attempts = 4,
    initial_delay = "10ms",
    timeout = "50ms",
    retry_on = [timeout, server_error, rate_limit],
    context = cx,
    on_retry = |event| println!("  {}; next in {:?}", event.error().unwrap(), event.wait()),
)]
async fn fetch(script: &[Trouble]) -> Result<u32, ApiError> {
    let now = cx.number();
    match script.get(now as usize - 1) {
        Some(Trouble::Stalls) => std::future::pending().await,
        Some(Trouble::RateLimit) => {
            Err(ApiError::Status { code: 429, retry_after: Some(Duration::from_millis(80)) })
        }
        Some(Trouble::Nonsense) => Err(ApiError::Malformed),
        None => Ok(now),
    }
}

enum Trouble {
    Stalls,
    RateLimit,
    Nonsense,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("a server in trouble:");
    println!("  ends with {:?}", fetch(&[Trouble::Stalls, Trouble::RateLimit]).await);
    println!("a server that is wrong:");
    println!("  ends with {:?}", fetch(&[Trouble::Nonsense]).await);
}
