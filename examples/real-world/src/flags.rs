//! Feature flags: a late answer is worthless, and an old one is better than none. The environment
//! may set how long an answer may take.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use retry_runtime::retry;

use crate::api_error::ApiError;
use crate::remote::Remote;

/// A client of the service that has the flags.
#[derive(Debug)]
pub struct Flags {
    /// The service to call.
    pub remote: Remote<bool, ApiError>,
    /// The time limit of an answer.
    pub timeout: Option<Duration>,
    /// The last known answers.
    pub known: Mutex<HashMap<String, bool>>,
}

impl Flags {
    /// Returns whether a feature is on, or the last known answer if the service does not give one.
    ///
    /// # Errors
    /// The last failure, if no answer was ever known.
    #[retry(
        attempts = 2,
        initial_delay = "50ms",
        timeout = self.timeout,
        on_failure = fallback(|error| self.known(flag).ok_or_else(|| error.into_error())),
    )]
    pub async fn is_on(&self, flag: &str) -> Result<bool, ApiError> {
        let is_on = self.remote.call(format!("GET /flags/{flag}")).await?;
        self.remember(flag, is_on);
        Ok(is_on)
    }

    fn known(&self, flag: &str) -> Option<bool> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(flag).copied()
    }

    fn remember(&self, flag: &str, is_on: bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(flag.to_owned(), is_on);
    }
}

#[cfg(test)]
mod tests {
    use retry_runtime::Interrupted;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives, Hangs};
    use crate::remote::ms;

    impl Flags {
        async fn is_on_by_hand(&self, flag: &str) -> Result<bool, ApiError> {
            let mut attempt = 1;
            loop {
                let call = self.remote.call(format!("GET /flags/{flag}"));
                let result = match self.timeout {
                    None => call.await,
                    Some(limit) => match timeout(limit, call).await {
                        Ok(result) => result,
                        Err(_) => Err(Interrupted::timeout(limit).into()),
                    },
                };
                match result {
                    Ok(is_on) => {
                        self.remember(flag, is_on);
                        return Ok(is_on);
                    }
                    Err(error) if attempt == 2 => return self.known(flag).ok_or(error),
                    Err(_) => {}
                }
                sleep(ms(50)).await;
                attempt += 1;
            }
        }
    }

    /// The answers, the known one, the expected result, and when it is returned.
    type Script<'a> = (&'a [Answer<bool, ApiError>], Option<bool>, Option<bool>, u128);

    #[tokio::test(start_paused = true)]
    async fn the_last_known_answer_is_better_than_none() {
        let down = || Fails(ApiError::status(503));
        let scripts: [Script<'_>; 5] = [
            (&[Hangs, Gives(true)], None, Some(true), 350),
            (&[Hangs, Hangs], Some(true), Some(true), 650),
            (&[down(), down()], Some(false), Some(false), 50),
            (&[down(), Gives(true)], Some(false), Some(true), 50),
            (&[down(), Fails(ApiError::status(404))], None, None, 50),
        ];
        for (script, known, is_on, end) in scripts {
            let trace = async |by_hand: bool| {
                let known = known.map(|is_on| ("dark".to_owned(), is_on)).into_iter().collect();
                let flags = Flags {
                    remote: Remote::new(script.to_vec()),
                    timeout: Some(ms(300)),
                    known: Mutex::new(known),
                };
                let result = if by_hand {
                    flags.is_on_by_hand("dark").await
                } else {
                    flags.is_on("dark").await
                };
                (result, flags.known("dark"), flags.remote.log(), flags.remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.0.as_ref().ok(), is_on.as_ref());
            assert_eq!(annotated.3, end);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
