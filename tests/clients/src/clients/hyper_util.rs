//! hyper-util's client, whose errors have the interesting ones inside; a status is no error to it.

use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;

use super::REFUSED;
use super::reqwest::TROUBLES;
use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::http::{Http, Tls};
use crate::suite::{Suite, error};

judged!(Error);

/// The errors of the whole: of the request, and of the body that follows.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the request failed")]
    Request(#[from] Error),
    #[error("the body did not come")]
    Body(#[from] hyper::Error),
    #[error("not in time")]
    Elapsed(#[from] tokio::time::error::Elapsed),
}

judged!(Failed);

async fn get(url: &str, timeout: Duration) -> Result<(), Failed> {
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let asking = async {
        let answer = client.get(url.parse().expect("an address")).await?;
        answer.into_body().collect().await?;
        Ok(())
    };
    tokio::time::timeout(timeout, asking).await?
}

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("hyper-util", "hyper-util", "0.1");
    let fake = Http::start(Tls::None).await;
    for (failure, path, decision, timeout) in TROUBLES {
        let url = fake.url(path);
        client.case(failure, decision, async || error(get(&url, timeout).await)).await;
    }
    for (failure, url, decision) in [
        ("refused port", format!("http://{REFUSED}/404"), Transient),
        ("unknown host", "http://nowhere.invalid/".to_owned(), Transient),
        ("a scheme that it does not speak", "ftp://localhost/timeout".to_owned(), Permanent),
    ] {
        client
            .case(failure, decision, async || {
                let plain: Client<_, Empty<Bytes>> =
                    Client::builder(TokioExecutor::new()).build_http();
                error(plain.get(url.parse().expect("an address")).await)
            })
            .await;
    }
}
