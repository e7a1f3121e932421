//! A connection that all callers share behind a lock, opened when it is first needed and again
//! after it broke. A caller holds the lock during an attempt, but not while it waits.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::retry;
use tokio::sync::Mutex;

use crate::remote::Remote;

/// A cache behind one connection; clones share it.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The service to call.
    pub remote: Arc<Remote<String, ErrorKind>>,
    /// `true` if it is connected.
    pub connection: Arc<Mutex<Option<Connected>>>,
    /// The time limit of an answer.
    pub timeout: Option<Duration>,
}

/// An open connection.
#[derive(Debug)]
pub struct Connected(String);

impl Cache {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = 3,
        initial_delay = "100ms",
        timeout = self.timeout,
        retry_on = [network, timeout],
    )]
    pub async fn get(&self, key: &str) -> io::Result<String> {
        let mut connection = self.connection.lock().await;
        // However the attempt ends, even by timeout, the connection is not reused unless it
        // succeeds.
        let connected = match connection.take() {
            Some(connected) => connected,
            None => Connected(self.remote.call("CONNECT").await?),
        };
        let value = self.remote.call(format!("GET {key} by {}", connected.0)).await?;
        *connection = Some(connected);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives, Hangs};
    use crate::remote::ms;

    impl Cache {
        async fn get_by_hand(&self, key: &str) -> io::Result<String> {
            let mut backoff = ms(100);
            let mut attempt = 1;
            loop {
                let call = async {
                    let mut connection = self.connection.lock().await;
                    let connected = match connection.take() {
                        Some(connected) => connected,
                        None => Connected(self.remote.call("CONNECT").await?),
                    };
                    let value = self.remote.call(format!("GET {key} by {}", connected.0)).await?;
                    *connection = Some(connected);
                    Ok::<_, io::Error>(value)
                };
                let result = match self.timeout {
                    None => call.await,
                    Some(limit) => match timeout(limit, call).await {
                        Ok(result) => result,
                        Err(elapsed) => Err(elapsed.into()),
                    },
                };
                let error = match result {
                    Ok(value) => return Ok(value),
                    Err(error) => error,
                };
                let passes = matches!(
                    error.kind(),
                    ErrorKind::ConnectionRefused
                        | ErrorKind::ConnectionReset
                        | ErrorKind::BrokenPipe
                        | ErrorKind::TimedOut
                );
                if !passes || attempt == 3 {
                    return Err(error);
                }
                sleep(backoff).await;
                backoff *= 2;
                attempt += 1;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_connection_is_made_again_and_others_do_not_wait_for_it() {
        let gives = |text: &str| Gives(text.to_owned());
        let script: [Answer<_, _>; 8] = [
            gives("A"),
            Fails(ErrorKind::BrokenPipe),
            // Another caller, while the first one waits.
            gives("B"),
            gives("two"),
            // The first one again.
            Hangs,
            gives("C"),
            gives("one"),
            Fails(ErrorKind::InvalidData),
        ];
        let trace = async |by_hand: bool| {
            let cache = Cache {
                remote: Arc::new(Remote::new(script.clone())),
                connection: Arc::default(),
                timeout: Some(ms(1_000)),
            };
            let get = async |key| {
                let result =
                    if by_hand { cache.get_by_hand(key).await } else { cache.get(key).await };
                result.map_err(|error| error.kind())
            };
            let results = tokio::join!(get("one"), async {
                sleep(ms(50)).await;
                get("two").await
            });
            (results, get("three").await, cache.remote.log(), cache.remote.now())
        };
        let annotated = trace(false).await;
        assert_eq!(annotated.0, (Ok("one".to_owned()), Ok("two".to_owned())));
        assert_eq!(annotated.1, Err(ErrorKind::InvalidData));
        assert_eq!(annotated.3, 100 + 1_000 + 200);
        assert_eq!(annotated, trace(true).await);
    }
}
