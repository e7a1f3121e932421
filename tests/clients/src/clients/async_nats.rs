//! async-nats.

use std::time::Duration;

use async_nats::client::{PublishError, RequestError};
use async_nats::{Client, ConnectError, ConnectOptions};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{Permanent, Transient, Undecided};
use crate::suite::{Suite, error};

judged!(ConnectError);
judged!(RequestError);
judged!(PublishError);

async fn connect(address: &str, user: Option<&str>) -> Result<Client, ConnectError> {
    let options = match user {
        Some(user) => ConnectOptions::with_user_and_password(user.to_owned(), "wrong".to_owned()),
        None => ConnectOptions::new(),
    };
    options.request_timeout(Some(Duration::from_millis(30))).connect(address).await
}

pub(super) async fn run(suite: &mut Suite) {
    let (Some(open), Some(locked)) =
        (crate::servers::nats::start(false).await, crate::servers::nats::start(true).await)
    else {
        suite.skip("NATS");
        return;
    };
    let mut client = suite.client("async-nats", "async-nats", "0");
    let open = format!("127.0.0.1:{}", open.port);
    let locked = format!("127.0.0.1:{}", locked.port);
    client
        .case("wrong password", Permanent, async || error(connect(&locked, Some("timeout")).await))
        .await;
    client.case("no password", Permanent, async || error(connect(&locked, None).await)).await;
    client.case("refused port", Transient, async || error(connect(REFUSED, None).await)).await;
    client
        .case("unknown host", Transient, async || {
            error(connect("nowhere.invalid:4222", None).await)
        })
        .await;
    client
        .case("an address that is none", Permanent, async || {
            error(connect("connection refused", None).await)
        })
        .await;
    client
        .case("no responders", Undecided, async || {
            let client = connect(&open, None).await.expect("a connection");
            error(client.request("timeout", "x".into()).await)
        })
        .await;
    client
        .case("no answer in time", Transient, async || {
            let client = connect(&open, None).await.expect("a connection");
            let _silent = client.subscribe("silent").await.expect("a subscription");
            client.flush().await.expect("flushed");
            error(client.request("silent", "x".into()).await)
        })
        .await;
    client
        .case("too large", Permanent, async || {
            let client = connect(&open, None).await.expect("a connection");
            error(client.publish("x", vec![0; 2 << 20].into()).await)
        })
        .await;
}
