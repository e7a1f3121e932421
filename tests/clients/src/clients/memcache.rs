//! memcache, which blocks.

use std::time::Duration;

use memcache::{Client, MemcacheError};

use super::{IMPATIENT, PATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{Permanent, Transient, Undecided};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(MemcacheError);

/// Connects; a pool waits as long for its first connection, whatever it hears.
fn connect(url: &str, timeout: Duration) -> Result<Client, MemcacheError> {
    Client::builder()
        .with_max_pool_size(1)
        .with_connection_timeout(timeout)
        .with_read_timeout(timeout)
        .add_server(url)?
        .build()
}

pub(super) async fn run(suite: &mut Suite) {
    let Some(server) = crate::servers::memcached::start().await else {
        suite.skip("memcached");
        return;
    };
    let mut client = suite.client("memcache", "memcache", "0");
    let url = format!("memcache://127.0.0.1:{}?protocol=ascii", server.port);
    let opened = connect(&url, PATIENT).expect("a connection");
    opened.set("timeout", "connection refused", 60).expect("set");
    client
        .case("a number that is none", Permanent, async || error(opened.increment("timeout", 1)))
        .await;
    client
        .case("a value that is too large", Permanent, async || {
            let large = vec![0; 2 << 20];
            error(connect(&url, PATIENT).and_then(|client| client.set("x", large.as_slice(), 60)))
        })
        .await;
    client
        .case("a key that is too long", Permanent, async || {
            error(opened.set(&"timeout".repeat(50), 1, 60))
        })
        .await;
    client
        .case("an address that is none", Permanent, async || {
            error(connect("connection refused", PATIENT))
        })
        .await;
    let refused = format!("memcache://{REFUSED}?protocol=ascii");
    client.case("refused port", Transient, async || error(connect(&refused, IMPATIENT))).await;
    client
        .case("unknown host", Transient, async || {
            error(connect("memcache://nowhere.invalid:1", IMPATIENT))
        })
        .await;
    for (failure, decision, reply) in [
        ("out of memory", Undecided, Some("SERVER_ERROR out of memory storing object\r\n")),
        ("busy", Transient, Some("SERVER_ERROR temporarily unavailable\r\n")),
        ("hang-up", Transient, None),
        ("no answer in time", Transient, Some("")),
        ("not a memcached at all", Permanent, Some("HTTP/1.1 400 Bad Request: timeout\r\n")),
    ] {
        let fake = Lines::start("", move |line| {
            if line == "version" {
                Some("VERSION 1\r\n".to_owned())
            } else {
                reply.map(str::to_owned)
            }
        })
        .await;
        let url = format!("memcache://{}?protocol=ascii", fake.address);
        let timeout = if reply == Some("") { IMPATIENT } else { PATIENT };
        client
            .case(failure, decision, async || {
                error(connect(&url, timeout).and_then(|client| client.get::<String>("x")))
            })
            .await;
    }
}
