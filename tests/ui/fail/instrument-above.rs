//! `#[instrument]` above `#[retry]` moves the arguments into a future, for each attempt.
use retry_runtime::retry;
use tracing::instrument;

#[instrument]
#[retry(attempts = 3)]
async fn fetch(host: String, port: u16) -> Result<usize, String> {
    Ok(host.len() + usize::from(port))
}

#[instrument(skip(log), err)]
#[retry(attempts = 3)]
async fn append(log: &mut Vec<u16>, port: u16) -> Result<usize, String> {
    log.push(port);
    Ok(log.len())
}

/// Each attempt has a clone and a span of its own.
#[instrument]
#[retry(attempts = 3, clone(host))]
async fn cloned(host: String) -> Result<String, String> {
    Ok(host)
}

/// One span contains all attempts.
#[retry(attempts = 3)]
#[instrument]
async fn below(host: String) -> Result<usize, String> {
    Ok(host.len())
}

#[instrument]
#[retry(attempts = 3)]
fn sync(host: String) -> Result<usize, String> {
    Ok(host.len())
}

fn main() {}
