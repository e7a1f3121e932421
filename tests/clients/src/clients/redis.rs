//! redis.

use redis::{Client, RedisError, Value};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{self, Permanent, Transient, Undecided};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(RedisError);

/// What a server says that is starting, a replica, or part of a cluster.
const REPLIES: [(&str, Decision, &str); 19] = [
    ("LOADING", Transient, "-LOADING Redis is loading the dataset in memory"),
    ("MOVED", Transient, "-MOVED 3999 127.0.0.1:6381"),
    ("ASK", Transient, "-ASK 3999 127.0.0.1:6381"),
    ("CLUSTERDOWN", Transient, "-CLUSTERDOWN The cluster is down"),
    (
        "MASTERDOWN",
        Transient,
        "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    ),
    ("READONLY", Transient, "-READONLY You can't write against a read only replica."),
    ("TRYAGAIN", Transient, "-TRYAGAIN Multiple keys request during rehashing of slot"),
    (
        "BUSY",
        Transient,
        "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    ),
    ("NOREPLICAS", Transient, "-NOREPLICAS Not enough good replicas to write."),
    ("max clients", Transient, "-ERR max number of clients reached"),
    ("NOPERM", Permanent, "-NOPERM this user has no permissions to run the 'timeout' command"),
    ("NOSCRIPT", Permanent, "-NOSCRIPT No matching script. Please use EVAL."),
    ("CROSSSLOT", Permanent, "-CROSSSLOT Keys in request don't hash to the same slot"),
    (
        "unknown command",
        Permanent,
        "-ERR unknown command 'timeout', with args beginning with: 'connection reset'",
    ),
    ("wrong arguments", Permanent, "-ERR wrong number of arguments for 'expire' command"),
    ("BUSYGROUP", Permanent, "-BUSYGROUP Consumer Group name already exists"),
    ("timeout is not a number", Permanent, "-ERR timeout is not a float or out of range"),
    ("EXECABORT", Permanent, "-EXECABORT Transaction discarded because of previous errors."),
    (
        "MISCONF",
        Undecided,
        "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    ),
];

async fn ask(url: &str, command: &[&str]) -> Result<Value, RedisError> {
    let mut connection = Client::open(url)?.get_multiplexed_async_connection().await?;
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
    for (failure, command) in [
        ("WRONGTYPE", &["LPUSH", "timeout", "1"][..]),
        ("not a number", &["INCR", "timeout"]),
        ("syntax error", &["SET", "timeout", "1", "temporarily", "unavailable"]),
        (
            "a script that fails",
            &["EVAL", "return redis.error_reply('ERR no such order 503')", "0"],
        ),
    ] {
        client.case(failure, Permanent, async || error(ask(&url, command).await)).await;
    }
    client
        .case("a value of another type", Permanent, async || {
            let opened = Client::open(url.as_str()).expect("a client");
            let mut connection = opened.get_multiplexed_async_connection().await.expect("one");
            error(redis::cmd("GET").arg("timeout").query_async::<i64>(&mut connection).await)
        })
        .await;
    let without = format!("redis://127.0.0.1:{}", locked.port);
    client.case("NOAUTH", Permanent, async || error(ask(&without, &["GET", "x"]).await)).await;
    let wrong = format!("redis://timeout:timeout@127.0.0.1:{}", locked.port);
    client.case("WRONGPASS", Permanent, async || error(ask(&wrong, &["GET", "x"]).await)).await;
    let url = format!("redis://127.0.0.1:{}", full.port);
    client.case("OOM", Undecided, async || error(ask(&url, &["SET", "x", "y"]).await)).await;
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
