//! redis.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Value};

use super::{PATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{self, Permanent, Transient, Undecided};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(RedisError);

/// Replies that no server gives here on request.
const REPLIES: [(&str, Decision, &str); 5] = [
    ("LOADING", Transient, "-LOADING Redis is loading the dataset in memory"),
    ("ASK", Transient, "-ASK 3999 127.0.0.1:6381"),
    ("TRYAGAIN", Transient, "-TRYAGAIN Multiple keys request during rehashing of slot"),
    ("a cluster that is down", Transient, "-CLUSTERDOWN The cluster is down"),
    (
        "MISCONF",
        Undecided,
        "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    ),
];

/// Requests that a healthy server refuses.
const REFUSALS: [(&str, &[&str]); 10] = [
    ("WRONGTYPE", &["LPUSH", "timeout", "1"]),
    ("not a number", &["INCR", "timeout"]),
    ("syntax error", &["SET", "timeout", "1", "temporarily", "unavailable"]),
    ("a script that fails", &["EVAL", "return redis.error_reply('ERR no such order 503')", "0"]),
    ("NOSCRIPT", &["EVALSHA", "5032503250325032503250325032503250325032", "0"]),
    ("unknown command", &["TIMEOUT", "connection reset"]),
    ("wrong arguments", &["EXPIRE", "connection reset"]),
    ("timeout is not a number", &["BLPOP", "connection reset", "x"]),
    ("BUSYGROUP", &["XGROUP", "CREATE", "stream", "timeout", "$"]),
    ("no such key", &["LSET", "nothing", "0", "timeout"]),
];

/// Servers that are in some trouble, and a command that they answer with it.
const TROUBLES: [(&str, &[&str], &[&str]); 5] = [
    ("READONLY", &["--replicaof", "127.0.0.1 1"], &["SET", "x", "y"]),
    (
        "MASTERDOWN",
        &["--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"],
        &["GET", "x"],
    ),
    ("NOREPLICAS", &["--min-replicas-to-write", "1"], &["SET", "x", "y"]),
    ("max clients", &["--maxclients", "1"], &["GET", "x"]),
    ("CLUSTERDOWN", &["--cluster-enabled", "yes"], &["GET", "x"]),
];

async fn connect(url: &str) -> Result<MultiplexedConnection, RedisError> {
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENT))
        .set_response_timeout(Some(PATIENT));
    Client::open(url)?.get_multiplexed_async_connection_with_config(&patient).await
}

async fn ask(url: &str, command: &[&str]) -> Result<Value, RedisError> {
    let mut connection = connect(url).await?;
    let mut asked = redis::cmd(command[0]);
    for argument in &command[1..] {
        asked.arg(argument);
    }
    asked.query_async(&mut connection).await
}

pub(super) async fn run(suite: &mut Suite) {
    fakes(suite).await;
    let (Some(plain), Some(locked), Some(full)) = (
        crate::servers::redis::start(&[]).await,
        crate::servers::redis::start(&["--requirepass", "secret"]).await,
        crate::servers::redis::start(&["--maxmemory", "1"]).await,
    ) else {
        suite.skip("Redis");
        return;
    };
    let mut client = suite.client("redis", "redis", "1");
    let url = format!("redis://127.0.0.1:{}", plain.port);
    ask(&url, &["SET", "timeout", "connection refused"]).await.expect("set");
    ask(&url, &["XGROUP", "CREATE", "stream", "timeout", "$", "MKSTREAM"]).await.expect("a group");
    ask(&url, &["ACL", "SETUSER", "timeout", "on", "nopass", "+ping"]).await.expect("a user");
    for (failure, command) in REFUSALS {
        client.case(failure, Permanent, async || error(ask(&url, command).await)).await;
    }
    let restricted = format!("redis://timeout:timeout@127.0.0.1:{}", plain.port);
    client.case("NOPERM", Permanent, async || error(ask(&restricted, &["GET", "x"]).await)).await;
    client
        .case("EXECABORT", Permanent, async || {
            let mut connection = connect(&url).await.expect("a connection");
            let mut transaction = redis::pipe();
            transaction.atomic().cmd("SET").arg("timeout");
            error(transaction.query_async::<()>(&mut connection).await)
        })
        .await;
    client
        .case("a value of another type", Permanent, async || {
            let mut connection = connect(&url).await.expect("a connection");
            error(redis::cmd("GET").arg("timeout").query_async::<i64>(&mut connection).await)
        })
        .await;
    let without = format!("redis://127.0.0.1:{}", locked.port);
    client.case("NOAUTH", Permanent, async || error(ask(&without, &["GET", "x"]).await)).await;
    let wrong = format!("redis://timeout:timeout@127.0.0.1:{}", locked.port);
    client.case("WRONGPASS", Permanent, async || error(ask(&wrong, &["GET", "x"]).await)).await;
    let url = format!("redis://127.0.0.1:{}", full.port);
    client.case("OOM", Undecided, async || error(ask(&url, &["SET", "x", "y"]).await)).await;
    for (failure, settings, command) in TROUBLES {
        let server = crate::servers::redis::start(settings).await.expect("as above");
        let url = format!("redis://127.0.0.1:{}", server.port);
        // The one that may connect to a server of one client, once the one is gone that saw it
        // start.
        let began = Instant::now();
        let _held = loop {
            match connect(&url).await {
                Ok(held) => break held,
                Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        client.case(failure, Transient, async || error(ask(&url, command).await)).await;
    }
    busy(&mut client).await;
    cluster(&mut client).await;
}

/// A script that takes its time.
async fn busy(client: &mut crate::suite::Client<'_>) {
    let settings = ["--busy-reply-threshold", "1"];
    let server = crate::servers::redis::start(&settings).await.expect("as above");
    let url = format!("redis://127.0.0.1:{}", server.port);
    let script = ["EVAL", "while true do end", "0"];
    let endless = tokio::spawn({
        let url = url.clone();
        async move { ask(&url, &script).await }
    });
    while !matches!(ask(&url, &["GET", "x"]).await, Err(error) if error.code() == Some("BUSY")) {}
    client.case("BUSY", Transient, async || error(ask(&url, &["GET", "x"]).await)).await;
    endless.abort();
}

/// Two nodes that share the slots.
async fn cluster(client: &mut crate::suite::Client<'_>) {
    let settings = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"];
    let one = crate::servers::redis::start(&settings).await.expect("as above");
    let other = crate::servers::redis::start(&settings).await.expect("as above");
    let url = |server: &crate::servers::Process| format!("redis://127.0.0.1:{}", server.port);
    let (one_url, other_url) = (url(&one), url(&other));
    ask(&one_url, &["CLUSTER", "ADDSLOTSRANGE", "0", "8191"]).await.expect("slots");
    ask(&other_url, &["CLUSTER", "ADDSLOTSRANGE", "8192", "16383"]).await.expect("slots");
    let port = other.port.to_string();
    ask(&one_url, &["CLUSTER", "MEET", "127.0.0.1", &port]).await.expect("met");
    // `x` is of the slot 16287.
    let moved = async || {
        let failed = error(ask(&one_url, &["GET", "x"]).await);
        failed.code() == Some("MOVED")
    };
    while !moved().await {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    client.case("MOVED", Transient, async || error(ask(&one_url, &["GET", "x"]).await)).await;
    client
        .case("CROSSSLOT", Permanent, async || error(ask(&one_url, &["MGET", "x", "y"]).await))
        .await;
}

async fn fakes(suite: &mut Suite) {
    let mut client = suite.client("redis", "redis", "1");
    for (failure, decision, reply) in REPLIES {
        // Greetings (CLIENT SETINFO) are answered, and then the one command that fails.
        let fake = Lines::start("", move |line| {
            Some(match line.to_uppercase().as_str() {
                "CLIENT" => "+OK\r\n".to_owned(),
                "GET" => format!("{reply}\r\n"),
                _ => String::new(),
            })
        })
        .await;
        let url = format!("redis://{}", fake.address);
        client.case(failure, decision, async || error(ask(&url, &["GET", "x"]).await)).await;
    }
    let hangup = Lines::start("", |line| {
        (line != "GET").then(|| if line == "CLIENT" { "+OK\r\n" } else { "" }.to_owned())
    })
    .await;
    let url = format!("redis://{}", hangup.address);
    client.case("hang-up", Transient, async || error(ask(&url, &["GET", "x"]).await)).await;
    let url = format!("redis://{REFUSED}");
    client.case("refused port", Transient, async || error(ask(&url, &["GET", "x"]).await)).await;
    client
        .case("unknown host", Transient, async || {
            error(ask("redis://nowhere.invalid", &["GET", "x"]).await)
        })
        .await;
    let other =
        Lines::start("HTTP/1.1 400 Bad Request: timeout\r\n\r\n", |_| Some(String::new())).await;
    let url = format!("redis://{}", other.address);
    client
        .case("not a Redis at all", Permanent, async || error(ask(&url, &["GET", "x"]).await))
        .await;
    client
        .case("an address that is none", Permanent, async || {
            error(ask("connection refused", &["GET", "x"]).await)
        })
        .await;
}
