//! A client with a token that expires: a request that is rejected because of that is made once
//! more, with a new token.

use std::sync::{Mutex, PoisonError};

use retry_runtime::retry;

use crate::api_error::ApiError;
use crate::remote::Remote;

/// A client that signs in automatically.
#[derive(Debug)]
pub struct SignedIn {
    /// The service to call, which also issues the tokens.
    pub remote: Remote<String, ApiError>,
    /// The token of the last request.
    pub token: Mutex<Option<String>>,
}

impl SignedIn {
    /// Returns who is signed in.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = 2,
        backoff = fixed,
        initial_delay = "0s",
        retry_on = [when(ApiError::is_unauthorized)],
        context = cx,
    )]
    pub async fn profile(&self) -> Result<String, ApiError> {
        let token = self.token(cx.number() > 1).await?;
        self.remote.call(format!("GET /me, {token}")).await
    }

    async fn token(&self, renew: bool) -> Result<String, ApiError> {
        if let Some(token) = self.kept().filter(|_| !renew) {
            return Ok(token);
        }
        let token = self.remote.call("POST /token").await?;
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
        Ok(token)
    }

    fn kept(&self) -> Option<String> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};

    impl SignedIn {
        async fn profile_by_hand(&self) -> Result<String, ApiError> {
            let mut renewed = false;
            loop {
                let result = async {
                    let token = self.token(renewed).await?;
                    self.remote.call(format!("GET /me, {token}")).await
                };
                match result.await {
                    Err(error) if error.is_unauthorized() && !renewed => renewed = true,
                    result => return result,
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_token_is_renewed_once() {
        let gives = |text: &str| Gives(text.to_owned());
        let unauthorized = || Fails(ApiError::status(401));
        let scripts: [(&[Answer<_, _>], &[&str]); 4] = [
            (&[gives("ada")], &["GET /me, old"]),
            (
                &[unauthorized(), gives("new"), gives("ada")],
                &["GET /me, old", "POST /token", "GET /me, new"],
            ),
            (
                &[unauthorized(), gives("new"), unauthorized()],
                &["GET /me, old", "POST /token", "GET /me, new"],
            ),
            (&[unauthorized(), Fails(ApiError::status(500))], &["GET /me, old", "POST /token"]),
        ];
        for (script, requests) in scripts {
            let trace = async |by_hand: bool| {
                let token = Mutex::new(Some("old".to_owned()));
                let client = SignedIn { remote: Remote::new(script.to_vec()), token };
                let result =
                    if by_hand { client.profile_by_hand().await } else { client.profile().await };
                (result, client.remote.requests(), client.kept(), client.remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, requests);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
