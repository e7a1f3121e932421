//! A failure inside of an `Ok` is not retried; `ok(…)`, or a test of the status, says that this is meant.
#![deny(deprecated)]

use std::io;

use retry_runtime::retry;

#[derive(Debug)]
struct Elapsed;

#[derive(Debug)]
struct JoinError;

async fn get<E>() -> Result<io::Result<u64>, E> {
    Ok(Ok(7))
}

#[retry(retry_on = [when(|_| true)])]
async fn with_a_timer() -> Result<io::Result<u64>, Elapsed> {
    get().await
}

#[retry(retry_on = [when(|_| true)])]
async fn in_a_task() -> Result<io::Result<u64>, JoinError> {
    get().await
}

#[retry(retry_on = [server_error])]
async fn unchecked(client: &reqwest::Client) -> Result<reqwest::Response, reqwest::Error> {
    client.get("http://localhost").send().await
}

#[retry(retry_on = [when(|_| true), ok(Result::is_err)])]
async fn both() -> Result<io::Result<u64>, Elapsed> {
    get().await
}

#[retry(attempts = 5)]
async fn timer_alone() -> Result<io::Result<u64>, Elapsed> {
    get().await
}

#[retry(retry_on = [server_error])]
async fn checked(client: &reqwest::Client) -> Result<reqwest::Response, reqwest::Error> {
    client.get("http://localhost").send().await?.error_for_status()
}

struct Api;

impl Api {
    async fn send(&self, _: u32) -> Result<reqwest::Response, reqwest::Error> {
        reqwest::get("http://localhost").await?.error_for_status()
    }
}

#[retry(retry_on = [server_error])]
async fn checked_elsewhere(api: &Api) -> Result<reqwest::Response, reqwest::Error> {
    api.send(7).await
}

fn main() {}
