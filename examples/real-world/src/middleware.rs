//! A place where the attribute cannot be used: a closure of the client's user decides which errors
//! are retried. The client holds a `Retrier`, created once; the equivalent loop by hand is that in
//! `object_store`.

use retry_runtime::retrier::ForError;
use retry_runtime::{Policy, Retrier, RetryError};

use crate::api_error::ApiError;
use crate::remote::Remote;

/// A client whose user decides what is retried.
#[derive(Debug)]
pub struct Middleware {
    remote: Remote<String, ApiError>,
    retrier: Retrier<ForError<ApiError>>,
}

impl Middleware {
    /// Creates a client that retries the failures for which `condition` holds.
    pub fn new(
        remote: Remote<String, ApiError>,
        policy: Policy,
        condition: impl Fn(&ApiError) -> bool + Send + Sync + 'static,
    ) -> Self {
        let retrier = Retrier::new(policy).classified().when(condition).name("middleware");
        Self { remote, retrier }
    }

    /// Makes a request.
    ///
    /// # Errors
    /// The last failure.
    pub async fn send(&self, request: &str) -> Result<String, ApiError> {
        let sent = self.retrier.run(|| self.remote.call(request)).await;
        sent.map_err(RetryError::into_error)
    }

    /// Sends these requests one after another and removes them from the list, which contains the
    /// unsent ones at the end. Each retry continues with the first one left.
    pub async fn send_all(&self, requests: Vec<String>) -> (Vec<String>, Result<(), ApiError>) {
        let (left, result) = self
            .retrier
            .run_with(requests, |mut left, _| async {
                while let Some(request) = left.first() {
                    if let Err(error) = self.remote.call(request).await {
                        return (left, Err(error));
                    }
                    left.remove(0);
                }
                (left, Ok(()))
            })
            .await;
        (left.unwrap_or_default(), result.map_err(RetryError::into_error))
    }
}

#[cfg(test)]
mod tests {
    use retry_runtime::policy;

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    const POLICY: Policy = policy!(attempts = 3, initial_delay = "100ms");

    fn client(script: impl IntoIterator<Item = Answer<String, ApiError>>) -> Middleware {
        // 404: something that was just created is not visible everywhere yet.
        Middleware::new(Remote::new(script), POLICY, |error| {
            matches!(error, ApiError::Status { code: 404 | 429, .. })
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_user_chooses_which_failures_are_retried() {
        let gives = || Gives("one".to_owned());
        let limited = Fails(ApiError::Status { code: 429, retry_after: Some(ms(1_000)) });

        let client_404 = client([Fails(ApiError::status(404)), limited, gives()]);
        assert_eq!(client_404.send("GET one").await.as_deref(), Ok("one"));
        assert_eq!(client_404.remote.times(), [0, 100, 1_100]);

        let client_503 = client([Fails(ApiError::status(503))]);
        assert_eq!(client_503.send("GET one").await, Err(ApiError::status(503)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sent_request_is_not_repeated() {
        let script = [
            Gives(String::new()),
            Fails(ApiError::status(404)),
            Gives(String::new()),
            Fails(ApiError::status(503)),
        ];
        let client = client(script);
        let requests = ["PUT 1", "PUT 2", "PUT 3"].map(str::to_owned).to_vec();
        let (left, result) = client.send_all(requests).await;
        assert_eq!((left, result), (vec!["PUT 3".to_owned()], Err(ApiError::status(503))));
        assert_eq!(client.remote.requests(), ["PUT 1", "PUT 2", "PUT 2", "PUT 3"]);
    }
}
