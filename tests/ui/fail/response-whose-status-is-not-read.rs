//! A response with a status such as 503 is an `Ok`.
#![deny(deprecated)]

use retry_runtime::retry;

/// The types of the client as far as they matter here.
mod reqwest {
    #[derive(Debug)]
    pub struct Error;

    pub struct Response;

    pub async fn send() -> Result<Response, Error> {
        Ok(Response)
    }
}

#[retry(retry_on = [when(|_| true), server_error], classify = |_| None)]
async fn fetch() -> Result<reqwest::Response, reqwest::Error> {
    reqwest::send().await
}

fn main() {}
