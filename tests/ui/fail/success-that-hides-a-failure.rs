//! A failure inside of an `Ok` is not retried; `ok(…)`, or a test of the status, says that this is meant.
#![deny(deprecated)]

use std::io;

use retry_runtime::retry;

#[derive(Debug)]
struct Elapsed;

#[derive(Debug)]
struct JoinError;

/// As in reqwest's feature of this name.
mod blocking {
    pub struct Client;

    impl Client {
        pub fn get(&self, _: &str) -> &Self {
            self
        }

        pub fn send(&self) -> Result<super::Response, reqwest::Error> {
            Ok(super::Response)
        }
    }
}

struct Response;

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

#[retry(retry_on = [transient])]
fn unchecked_blocking(client: &blocking::Client) -> Result<Response, reqwest::Error> {
    client.get("http://localhost").send()
}

fn main() {}
