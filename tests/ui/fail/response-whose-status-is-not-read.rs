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

fn check(response: reqwest::Response) -> Result<reqwest::Response, reqwest::Error> {
    Ok(response)
}

/// As by `http::check`.
#[retry(retry_on = [when(|_| true), server_error], classify = |_| None)]
async fn checked() -> Result<reqwest::Response, reqwest::Error> {
    reqwest::send().await.and_then(check)
}

fn main() {}
