//! tokio-tungstenite.

use std::time::Duration;

use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Error;

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::http::{Http, Tls};
use crate::suite::{Suite, error};

judged!(Error);

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("tokio-tungstenite", "tokio-tungstenite", "0.30");
    let fake = Http::start(Tls::None).await;
    let at = |path: &str| format!("ws://{}{path}", fake.address);
    for (failure, decision, url) in [
        ("429 with Retry-After", Transient, at("/429/Retry-After:7")),
        ("503", Transient, at("/503")),
        ("502", Transient, at("/502")),
        ("401", Permanent, at("/401")),
        ("403", Permanent, at("/403")),
        ("404", Permanent, at("/404")),
        ("200, no WebSocket", Permanent, at("/200")),
        ("hang-up", Transient, at("/hangup")),
        ("garbage", Permanent, at("/garbage")),
        ("refused port", Transient, format!("ws://{REFUSED}/")),
        ("unknown host", Transient, "ws://nowhere.invalid/".to_owned()),
        ("an address that is none", Permanent, "timeout://127.0.0.1/".to_owned()),
    ] {
        let asks = failure.ends_with("Retry-After").then_some(Duration::from_secs(7));
        client
            .asking(asks)
            .case(failure, decision, async || error(connect_async(&url).await))
            .await;
    }
}
