//! Startup: a service waits for its dependencies, reports what it waits for, and gives up in time
//! if they never come. A free function; the caller says how long to wait.

use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::time::Duration;

use retry_runtime::{RetryError, RetryEvent, retry};

use crate::remote::Remote;

/// The notes made while a service waits.
pub type Notes = Mutex<Vec<String>>;

/// Waits until a database answers, and returns its version.
///
/// # Errors
/// Why the call was given up, and the last failure.
#[retry(
    attempts = unlimited,
    initial_delay = "1s",
    max_delay = "4s",
    deadline = patience,
    on_retry = |event| note(notes, event),
)]
pub async fn wait_for_database(
    remote: &Remote<u32, ErrorKind>,
    patience: Duration,
    notes: &Notes,
) -> Result<u32, RetryError<io::Error>> {
    Ok(remote.call("SELECT version()").await?)
}

fn note(notes: &Notes, event: &RetryEvent<'_, io::Error>) {
    let error = event.error().map(io::Error::kind);
    let text = format!("attempt {}: {error:?}, again in {:?}", event.attempt(), event.wait());
    notes.lock().expect("nobody panics while noting").push(text);
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep, timeout_at};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives, Hangs};
    use crate::remote::ms;

    async fn wait_for_database_by_hand(
        remote: &Remote<u32, ErrorKind>,
        patience: Duration,
        notes: &Notes,
    ) -> Result<u32, Option<io::Error>> {
        let deadline = Instant::now() + patience;
        let mut backoff = ms(1_000);
        let mut last = None;
        for attempt in 1.. {
            let error = match timeout_at(deadline, remote.call("SELECT version()")).await {
                Ok(Ok(version)) => return Ok(version),
                Ok(Err(kind)) => io::Error::from(kind),
                Err(_) => return Err(last),
            };
            if Instant::now() + backoff >= deadline {
                return Err(Some(error));
            }
            let kind = Some(error.kind());
            let text = format!("attempt {attempt}: {kind:?}, again in {backoff:?}");
            notes.lock().expect("nobody panics while noting").push(text);
            last = Some(error);
            sleep(backoff).await;
            backoff = (backoff * 2).min(ms(4_000));
        }
        unreachable!("the deadline ends it")
    }

    #[tokio::test(start_paused = true)]
    async fn it_waits_for_as_long_as_it_may() {
        let refused = || Fails(ErrorKind::ConnectionRefused);
        let scripts: [(&[Answer<_, _>], &[u128], u128); 4] = [
            (&[refused(), Fails(ErrorKind::Other), Gives(18)], &[0, 1_000, 3_000], 3_000),
            (&[const { Fails(ErrorKind::NotFound) }; 4], &[0, 1_000, 3_000, 7_000], 7_000),
            (&[refused(), Hangs], &[0, 1_000], 10_000),
            (&[Hangs], &[0], 10_000),
        ];
        for (script, times, end) in scripts {
            let trace = async |by_hand: bool| {
                let (remote, notes) = (Remote::new(script.to_vec()), Notes::default());
                let result = if by_hand {
                    wait_for_database_by_hand(&remote, ms(10_000), &notes).await
                } else {
                    wait_for_database(&remote, ms(10_000), &notes)
                        .await
                        .map_err(RetryError::into_last)
                };
                let result = result.map_err(|error| error.map(|error| error.kind()));
                (result, notes.into_inner().unwrap(), remote.times(), remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!((&annotated.2[..], annotated.3), (times, end));
            assert_eq!(annotated.1.len(), times.len() - 1);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
