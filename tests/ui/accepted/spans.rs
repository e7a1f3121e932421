//! `#[instrument]` above and below the attribute.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use retry_runtime::retry;
use tracing::instrument;

struct Client {
    port: u16,
}

impl Client {
    #[instrument(skip(self))]
    #[retry(attempts = 2)]
    async fn method(&self, host: &str, port: u16) -> Result<String, String> {
        Ok(format!("{host}:{}", self.port + port))
    }
}

/// Each attempt has a span, and a clone of the argument.
#[instrument(err)]
#[retry(attempts = 2, clone(host))]
async fn cloned(host: String) -> Result<String, String> {
    Ok(host)
}

/// The same name may stand for something else.
#[instrument(skip(host))]
#[retry(attempts = 2)]
async fn field_of_that_name(host: &Client, port: u16) -> Result<u16, String> {
    Ok(Client { port: host.port + port }.port)
}

/// One span contains all attempts.
#[retry(attempts = 2)]
#[instrument]
async fn below(host: String) -> Result<usize, String> {
    Ok(host.len())
}

#[instrument]
#[retry(attempts = 2)]
fn sync(host: String) -> Result<usize, String> {
    Ok(host.len())
}

#[tokio::test]
async fn spans_around_attempts_and_around_calls() {
    let client = Client { port: 1 };
    assert_eq!(client.method("host", 7).await.unwrap(), "host:8");
    assert_eq!(cloned("host".to_owned()).await.unwrap(), "host");
    assert_eq!(field_of_that_name(&client, 7).await.unwrap(), 8);
    assert_eq!(below("host".to_owned()).await.unwrap(), 4);
    assert_eq!(sync("host".to_owned()).unwrap(), 4);
}
