//! An `Ok` that is meant as a success, or that hides no failure, is not warned of.
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::io;

use retry_runtime::retry;

/// What the attribute can see of a client: names.
mod reqwest {
    #[derive(Debug)]
    pub struct Error;

    pub struct Response(pub u16);

    pub struct Client;

    impl Client {
        pub fn get(&self, _: &str) -> &Self {
            self
        }

        pub async fn send(&self) -> Result<Response, Error> {
            Ok(Response(503))
        }

        pub fn send_now(&self) -> Result<Response, Error> {
            Ok(Response(503))
        }
    }

    impl Response {
        pub fn error_for_status(self) -> Result<Self, Error> {
            if self.0 < 400 { Ok(self) } else { Err(Error) }
        }

        pub async fn json<T: From<u16>>(self) -> Result<T, Error> {
            Ok(T::from(self.0))
        }
    }
}

use reqwest::Client;

#[derive(Debug)]
struct Elapsed;

#[derive(Debug)]
struct JoinError;

#[derive(Debug)]
struct SdkError;

/// Error types, whose kind can be read.
macro_rules! errors {
    ($($Error:ty)+) => {$(
        impl std::fmt::Display for $Error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("HTTP 503")
            }
        }

        impl std::error::Error for $Error {}
    )+};
}

errors!(Elapsed JoinError SdkError reqwest::Error);

/// A response of one's own, or of an SDK, whose failures are errors.
struct Response;

impl From<u16> for Response {
    fn from(_: u16) -> Self {
        Self
    }
}

struct Operation;

impl Operation {
    fn bucket(&self, _: &str) -> &Self {
        self
    }

    async fn send(&self) -> Result<Response, SdkError> {
        Err(SdkError)
    }

    #[retry(retry_on = [server_error], attempts = 2, initial_delay = "1ms")]
    async fn of_an_sdk(&self) -> Result<Response, SdkError> {
        self.bucket("b").send().await
    }
}

#[retry(initial_delay = "1ms", retry_on = [when(|_| true), ok(Result::is_err)])]
async fn retried_as_well() -> Result<io::Result<u64>, Elapsed> {
    Ok(Ok(7))
}

#[retry(attempts = 5)]
async fn timer_alone() -> Result<io::Result<u64>, Elapsed> {
    Ok(Ok(7))
}

#[retry(retry_on = [timeout])]
async fn only_a_timeout() -> Result<io::Result<u64>, Elapsed> {
    Ok(Ok(7))
}

#[retry(retry_on = [when(|_| true), ok(|_| false)])]
async fn silenced_by_a_matcher() -> Result<io::Result<u64>, JoinError> {
    Ok(Ok(7))
}

#[allow(deprecated)]
#[retry(retry_on = [when(|_| true)])]
async fn silenced_above() -> Result<io::Result<u64>, JoinError> {
    Ok(Ok(7))
}

#[retry(retry_on = [server_error], attempts = 2, initial_delay = "1ms")]
async fn checked(client: &Client) -> Result<reqwest::Response, reqwest::Error> {
    client.get("/").send().await?.error_for_status()
}

#[retry(retry_on = [transient], attempts = 2, initial_delay = "1ms")]
async fn own_type_of_a_body(client: &Client) -> Result<Response, reqwest::Error> {
    client.get("/").send().await?.json::<Response>().await
}

#[retry(retry_on = [connect])]
async fn only_what_was_not_sent(client: &Client) -> Result<reqwest::Response, reqwest::Error> {
    client.get("/").send().await
}

struct Api(Client);

impl Api {
    async fn send(&self) -> Result<reqwest::Response, reqwest::Error> {
        self.0.get("/").send().await?.error_for_status()
    }

    #[retry(retry_on = [server_error], attempts = 2, initial_delay = "1ms")]
    async fn checked_elsewhere(&self) -> Result<reqwest::Response, reqwest::Error> {
        self.send().await
    }

    #[retry(retry_on = [server_error], attempts = 2, initial_delay = "1ms")]
    fn checked_elsewhere_blocking(&self) -> Result<reqwest::Response, reqwest::Error> {
        self.0.send_now()?.error_for_status()
    }
}

#[tokio::test]
async fn successes_are_returned() {
    assert!(matches!(retried_as_well().await, Ok(Ok(7))));
    assert!(matches!(timer_alone().await, Ok(Ok(7))));
    assert!(matches!(only_a_timeout().await, Ok(Ok(7))));
    assert!(matches!(silenced_by_a_matcher().await, Ok(Ok(7))));
    assert!(matches!(silenced_above().await, Ok(Ok(7))));
    let api = Api(Client);
    assert_eq!(only_what_was_not_sent(&api.0).await.map(|response| response.0).ok(), Some(503));
    assert!(own_type_of_a_body(&api.0).await.is_ok());
    assert!(Operation.of_an_sdk().await.is_err());
    assert!(checked(&api.0).await.is_err());
    assert!(api.checked_elsewhere().await.is_err());
    assert!(api.checked_elsewhere_blocking().is_err());
}
