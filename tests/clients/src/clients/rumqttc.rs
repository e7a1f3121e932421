//! rumqttc.

use std::time::Duration;

use rumqttc::{AsyncClient, ConnectionError, MqttOptions};

use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(ConnectionError);

async fn connect(host: &str, port: u16, user: Option<&str>) -> Result<(), ConnectionError> {
    let mut options = MqttOptions::new("timeout", host, port);
    options.set_keep_alive(Duration::from_secs(5));
    if let Some(user) = user {
        options.set_credentials(user, "wrong");
    }
    let (_client, mut events) = AsyncClient::new(options, 10);
    events.poll().await.map(drop)
}

pub(super) async fn run(suite: &mut Suite) {
    let Some(server) = crate::servers::mosquitto::start().await else {
        suite.skip("mosquitto");
        return;
    };
    let mut client = suite.client("rumqttc", "rumqttc", "0");
    let port = server.port;
    client
        .case("no password", Permanent, async || error(connect("127.0.0.1", port, None).await))
        .await;
    client
        .case("wrong password", Permanent, async || {
            error(connect("127.0.0.1", port, Some("timeout")).await)
        })
        .await;
    client
        .case("refused port", Transient, async || error(connect("127.0.0.1", 1, None).await))
        .await;
    client
        .case("unknown host", Transient, async || {
            error(connect("nowhere.invalid", 1883, None).await)
        })
        .await;
    // CONNACK with each reason.
    for (failure, decision, answer) in [
        ("protocol version", Permanent, " \u{2}\0\u{1}"),
        ("identifier rejected", Permanent, " \u{2}\0\u{2}"),
        ("server unavailable", Transient, " \u{2}\0\u{3}"),
        ("not authorized", Permanent, " \u{2}\0\u{5}"),
    ] {
        let fake = Lines::start(answer, |_| Some(String::new())).await;
        let port = fake.address.port();
        client
            .case(failure, decision, async || error(connect("127.0.0.1", port, None).await))
            .await;
    }
}
