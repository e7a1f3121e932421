//! memcache, which blocks.

use memcache::{Client, MemcacheError};

use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(MemcacheError);

fn connect(address: &str) -> Result<Client, MemcacheError> {
    Client::connect(format!("memcache://{address}?timeout=1&protocol=ascii"))
}

/// A blocking call, made where it holds up nobody.
fn blocking<T>(call: impl FnOnce() -> Result<T, MemcacheError>) -> MemcacheError {
    tokio::task::block_in_place(|| error(call()))
}

pub(super) async fn run(suite: &mut Suite) {
    let Some(server) = crate::servers::memcached::start().await else {
        suite.skip("memcached");
        return;
    };
    let mut client = suite.client("memcache", "memcache", "0");
    let real = format!("127.0.0.1:{}", server.port);
    client
        .case("too large", Permanent, async || {
            blocking(|| connect(&real)?.set("x", "y".repeat(200_000), 0))
        })
        .await;
    client
        .case("no number", Permanent, async || {
            blocking(|| {
                let client = connect(&real)?;
                client.set("timeout", "connection refused", 0)?;
                client.increment("timeout", 1)
            })
        })
        .await;
    client
        .case("a value of another type", Permanent, async || {
            blocking(|| {
                let client = connect(&real)?;
                client.set("timeout", "connection refused", 0)?;
                client.get::<u64>("timeout")
            })
        })
        .await;
    client
        .case("a key that is too long", Permanent, async || {
            blocking(|| connect(&real)?.set(&"timeout".repeat(100), "y", 0))
        })
        .await;
    client
        .case("an address that is none", Permanent, async || {
            blocking(|| Client::connect("timeout"))
        })
        .await;
    for (failure, decision, reply) in [
        ("out of memory", Transient, "SERVER_ERROR out of memory storing object\r\n"),
        ("unknown command", Permanent, "ERROR\r\n"),
        ("a mistake of the caller", Permanent, "CLIENT_ERROR bad data chunk: timeout\r\n"),
    ] {
        let fake = Lines::start("", move |_| Some(reply.to_owned())).await;
        let address = fake.address.to_string();
        client
            .case(failure, decision, async || blocking(|| connect(&address)?.get::<String>("x")))
            .await;
    }
}
