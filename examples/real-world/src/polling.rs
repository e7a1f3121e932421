//! Polling: one call starts something, and another asks whether it is done.

use std::time::Duration;

use retry_runtime::retry;

use crate::api_error::ApiError;
use crate::remote::Remote;

/// The state of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Export {
    /// It is still being written.
    Running,
    /// It is at this location.
    Done(String),
}

impl Export {
    fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }
}

/// A client of a service that exports.
#[derive(Debug)]
pub struct Exports {
    /// The service to call.
    pub remote: Remote<Export, ApiError>,
    /// The time between requests.
    pub interval: Duration,
}

impl Exports {
    /// Returns the state of an export: done, or still running when the patience runs out.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = unlimited,
        backoff = fixed,
        initial_delay = self.interval,
        max_elapsed = patience,
        retry_on = [ok(Export::is_running), network, timeout, server_error, rate_limit],
    )]
    pub async fn wait_for(&self, id: u32, patience: Duration) -> Result<Export, ApiError> {
        self.remote.call(format!("GET /exports/{id}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    impl Exports {
        async fn wait_for_by_hand(&self, id: u32, patience: Duration) -> Result<Export, ApiError> {
            let began = Instant::now();
            loop {
                let result = self.remote.call(format!("GET /exports/{id}")).await;
                let again = match &result {
                    Ok(export) => export.is_running(),
                    Err(error) => error.is_transient(),
                };
                if !again || began.elapsed() + self.interval > patience {
                    return result;
                }
                sleep(self.interval).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn polls_until_the_export_is_done_or_the_time_is_up() {
        use Export::{Done, Running};

        let lost = || Fails(ApiError::Connection(ErrorKind::ConnectionReset));
        let done = || Gives(Done("here".to_owned()));
        let scripts: [(&[Answer<_, _>], &[u128]); 4] = [
            (&[Gives(Running), lost(), Gives(Running), done()], &[0, 60_000, 120_000, 180_000]),
            (&[const { Gives(Running) }; 5], &[0, 60_000, 120_000, 180_000, 240_000]),
            (&[Gives(Running), Fails(ApiError::status(404))], &[0, 60_000]),
            (&[done()], &[0]),
        ];
        for (script, times) in scripts {
            let trace = async |by_hand: bool| {
                let exports =
                    Exports { remote: Remote::new(script.to_vec()), interval: ms(60_000) };
                let result = if by_hand {
                    exports.wait_for_by_hand(7, ms(240_000)).await
                } else {
                    exports.wait_for(7, ms(240_000)).await
                };
                (result, exports.remote.times(), exports.remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, times);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
