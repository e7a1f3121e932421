//! The result of the library's own `check` for a response, here of reqwest's.

use std::time::Duration;

use retry_runtime::http::{StatusError, check};

use super::reqwest::STATUSES;
use crate::judged;
use crate::servers::http::{Http, Tls};
use crate::suite::{Suite, error};

judged!(StatusError);

/// Rate limits of other forms.
const WAITS: [&str; 4] = [
    "/429/retry-after-ms:7000",
    "/429/x-ratelimit-reset-after:7",
    "/503/Retry-After:7.0",
    "/403/Retry-After:7",
];

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("`check`, with reqwest", "reqwest", "0.13");
    let fake = Http::start(Tls::None).await;
    let asked = ::reqwest::Client::new();
    let waits = WAITS.iter().map(|&path| (path, crate::report::Decision::Transient));
    for (path, decision) in STATUSES.into_iter().chain(waits) {
        let asks = path.ends_with(['7', '0']) && path.contains(':');
        client
            .asking(asks.then_some(Duration::from_secs(7)))
            .case(path, decision, async || {
                let answer = asked.get(fake.url(path)).send().await.expect("an answer");
                error(check(answer))
            })
            .await;
    }
}
