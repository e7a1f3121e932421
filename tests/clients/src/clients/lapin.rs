//! lapin.

use std::time::Duration;

use lapin::options::{BasicGetOptions, QueueDeclareOptions};
use lapin::protocol::{AMQPError, AMQPErrorKind, AMQPHardError};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties, Error, ErrorKind};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{Permanent, Transient, Undecided};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(Error);

async fn connect(url: &str) -> Result<Connection, Error> {
    Connection::connect(url, ConnectionProperties::default()).await
}

/// A channel is closed by what fails on it.
async fn channel(connection: &Connection) -> Channel {
    connection.create_channel().await.expect("a channel")
}

/// Replies of a broker that is going down or overloaded, which one in a test has no reason to send.
fn said(kind: AMQPHardError, text: &str) -> Error {
    let said = AMQPError::new(AMQPErrorKind::Hard(kind), text.into());
    ErrorKind::ProtocolError(said).into()
}

pub(super) async fn run(suite: &mut Suite) {
    let Some(server) = crate::servers::rabbitmq::start().await else {
        suite.skip("RabbitMQ");
        return;
    };
    let mut client = suite.client("lapin", "lapin", "4");
    let url = format!("amqp://guest:guest@127.0.0.1:{}/%2f", server.port);
    let connection = connect(&url).await.expect("a connection");
    let lasting = QueueDeclareOptions { auto_delete: true, ..QueueDeclareOptions::default() };
    let declared = channel(&connection).await;
    declared.queue_declare("timeout".into(), lasting, FieldTable::default()).await.expect("one");
    client
        .case("NOT_FOUND", Permanent, async || {
            let channel = channel(&connection).await;
            let asked =
                channel.basic_get("connection refused".into(), BasicGetOptions::default()).await;
            error(asked)
        })
        .await;
    client
        .case("PRECONDITION_FAILED", Permanent, async || {
            let channel = channel(&connection).await;
            let other = QueueDeclareOptions { durable: true, ..lasting };
            error(channel.queue_declare("timeout".into(), other, FieldTable::default()).await)
        })
        .await;
    let mine = QueueDeclareOptions { exclusive: true, ..lasting };
    declared.queue_declare("mine".into(), mine, FieldTable::default()).await.expect("one");
    let another = connect(&url).await.expect("another connection");
    client
        .case("RESOURCE_LOCKED", Undecided, async || {
            let channel = channel(&another).await;
            error(channel.basic_get("mine".into(), BasicGetOptions::default()).await)
        })
        .await;
    client
        .case("a channel that was closed", Undecided, async || {
            let channel = channel(&connection).await;
            channel.close(200, "done".into()).await.expect("closed");
            error(channel.basic_get("timeout".into(), BasicGetOptions::default()).await)
        })
        .await;
    let wrong = format!("amqp://timeout:timeout@127.0.0.1:{}/%2f", server.port);
    client.case("ACCESS_REFUSED", Permanent, async || error(connect(&wrong).await)).await;
    let nowhere = format!("amqp://guest:guest@127.0.0.1:{}/503", server.port);
    client
        .case("NOT_ALLOWED, no such host", Permanent, async || error(connect(&nowhere).await))
        .await;
    let refused = format!("amqp://{REFUSED}/%2f");
    client.case("refused port", Transient, async || error(connect(&refused).await)).await;
    client
        .case("unknown host", Transient, async || {
            error(connect("amqp://nowhere.invalid/%2f").await)
        })
        .await;
    client
        .case("an address that is none", Permanent, async || {
            error(connect("connection refused").await)
        })
        .await;
    let other = Lines::start("HTTP/1.1 400 Bad Request: timeout\r\n\r\n", |_| None).await;
    let url = format!("amqp://{}/%2f", other.address);
    client.case("not a broker at all", Permanent, async || error(connect(&url).await)).await;
    let hangup = Lines::hanging_up().await;
    let url = format!("amqp://{}/%2f", hangup.address);
    client.case("hang-up", Transient, async || error(connect(&url).await)).await;
    for (failure, decision, kind, text) in [
        (
            "CONNECTION_FORCED",
            Transient,
            AMQPHardError::CONNECTIONFORCED,
            "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'",
        ),
        (
            "INTERNAL_ERROR",
            Transient,
            AMQPHardError::INTERNALERROR,
            "INTERNAL_ERROR - Cannot declare a queue 'queue 'orders' in vhost '/'' on node 'rabbit@b': nodedown",
        ),
        (
            "too many connections",
            Undecided,
            AMQPHardError::NOTALLOWED,
            "NOT_ALLOWED - access to vhost '/' refused for user 'guest': connection limit (1) is reached",
        ),
    ] {
        client.case(failure, decision, async || said(kind.clone(), text)).await;
    }
    client
        .case("a heartbeat that is missing", Transient, async || {
            Error::from(ErrorKind::MissingHeartbeatError)
        })
        .await;
    tokio::time::timeout(Duration::from_secs(5), connection.close(200, "done".into()))
        .await
        .expect("in time")
        .expect("closed");
}
