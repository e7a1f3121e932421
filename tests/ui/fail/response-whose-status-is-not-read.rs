//! A response with a status such as 503 is an `Ok`.
#![deny(deprecated)]

use retry_runtime::retry;

/// The types of the client as far as they matter here.
mod reqwest {
    #[derive(Debug)]
    pub struct Error;

    pub struct Response;

    pub struct Request;

    impl Request {
        pub async fn send(self) -> Result<Response, Error> {
            Ok(Response)
        }
    }
}

#[retry(retry_on = [when(|_| true), server_error], classify = |_| None)]
async fn fetch() -> Result<reqwest::Response, reqwest::Error> {
    reqwest::Request.send().await
}

#[retry(retry_on = [when(|_| true), rate_limit], classify = |_| None)]
async fn fetch_ok() -> Result<reqwest::Response, reqwest::Error> {
    let request = reqwest::Request;
    Ok(request.send().await?)
}

fn vetted(response: reqwest::Response) -> Result<reqwest::Response, reqwest::Error> {
    Ok(response)
}

/// What another function makes of the response is not known.
#[retry(retry_on = [when(|_| true), server_error], classify = |_| None)]
async fn checked() -> Result<reqwest::Response, reqwest::Error> {
    reqwest::Request.send().await.and_then(vetted)
}

#[retry(retry_on = [when(|_| true), server_error], classify = |_| None)]
async fn checked_in_ok() -> Result<reqwest::Response, reqwest::Error> {
    Ok(vetted(reqwest::Request.send().await?)?)
}

fn main() {}
