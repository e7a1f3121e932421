//! A client of a language model: a policy in its options, a timeout for each attempt, waits that
//! the server asks for, a request that the call consumes, and an error that says how the call
//! ended.

use retry_runtime::{Policy, RetryError, retry};

use crate::api_error::ApiError;
use crate::remote::Remote;

/// A request to the model.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The conversation so far.
    pub messages: Vec<String>,
}

impl Prompt {
    fn into_body(self) -> String {
        self.messages.join("\n")
    }
}

/// A client of one model.
#[derive(Debug)]
pub struct LlmClient {
    /// The service to call.
    pub remote: Remote<String, ApiError>,
    /// The retries of its requests.
    pub policy: Policy,
}

impl LlmClient {
    /// Returns the model's answer.
    ///
    /// # Errors
    /// Why the call was given up, after how many attempts, and the last failure.
    #[retry(
        policy = self.policy,
        retry_on = [network, timeout, server_error, rate_limit],
        clone(prompt),
    )]
    pub async fn complete(&self, prompt: Prompt) -> Result<String, RetryError<ApiError>> {
        self.remote.call(prompt.into_body()).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use retry_runtime::{Interrupted, policy};
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives, Hangs};
    use crate::remote::ms;

    const POLICY: Policy =
        policy!(attempts = 4, initial_delay = "500ms", max_delay = "8s", timeout = "60s");

    struct GaveUp {
        last: ApiError,
        attempts: u32,
        waited: Duration,
    }

    impl LlmClient {
        async fn complete_by_hand(&self, prompt: Prompt) -> Result<String, GaveUp> {
            let mut backoff = self.policy.get_initial_delay();
            let mut waited = Duration::ZERO;
            let mut attempts = 0;
            loop {
                attempts += 1;
                let call = self.remote.call(prompt.clone().into_body());
                let last = match self.policy.get_timeout() {
                    None => call.await,
                    Some(limit) => match timeout(limit, call).await {
                        Ok(result) => result,
                        Err(_) => Err(Interrupted::timeout(limit).into()),
                    },
                };
                let last = match last {
                    Ok(text) => return Ok(text),
                    Err(error) => error,
                };
                if !last.is_transient() || attempts == 4 {
                    return Err(GaveUp { last, attempts, waited });
                }
                let wait = match last {
                    ApiError::Status { retry_after: Some(wait), .. } => wait,
                    _ => backoff,
                };
                sleep(wait).await;
                waited += wait;
                backoff = (backoff * 2).min(self.policy.get_max_delay());
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn obeys_retry_after_and_reports_the_result() {
        let limited = ApiError::Status { code: 429, retry_after: Some(ms(20_000)) };
        let overloaded = Fails(ApiError::status(529));
        let scripts: [(&[Answer<_, _>], &[u128]); 4] = [
            (&[Fails(limited.clone()), Gives("Hello".to_owned())], &[0, 20_000]),
            (&[overloaded.clone(), Hangs, Gives("Hello".to_owned())], &[0, 500, 61_500]),
            (&[Fails(limited), Fails(ApiError::status(400))], &[0, 20_000]),
            (&[overloaded.clone(), overloaded, Hangs, Hangs], &[0, 500, 1_500, 63_500]),
        ];
        for (script, times) in scripts {
            let trace = async |by_hand: bool| {
                let client = LlmClient { remote: Remote::new(script.to_vec()), policy: POLICY };
                let prompt = Prompt { messages: vec!["Hi".to_owned()] };
                let result = if by_hand {
                    let result = client.complete_by_hand(prompt).await;
                    result.map_err(|end| (Some(end.last), end.attempts, end.waited))
                } else {
                    client.complete(prompt).await.map_err(|error| {
                        // An attempt that the policy cut off has no error of the client's.
                        let cut = error.interrupted().cloned().map(ApiError::from);
                        (error.last().cloned().or(cut), error.attempts(), error.waited())
                    })
                };
                (result, client.remote.times(), client.remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, times);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
