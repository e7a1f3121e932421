//! The work of a job on Postgres as a person would write it: plain statements, each for many items.

use std::time::{Duration, Instant};

use retry_workflow::store::NewItem;
use retry_workflow_postgres::tokio_postgres::{Client, NoTls, connect};
use tokio::task::JoinSet;

/// The number of workers at the same time, each on a connection of its own.
const CLIENTS: usize = 2;

/// The tables; the index is that of what is to be claimed.
const TABLES: &str = "
    CREATE TABLE item (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL,
        payload text NOT NULL, status text NOT NULL DEFAULT 'pending', worker text,
        changed timestamptz NOT NULL DEFAULT now());
    CREATE INDEX ON item (number) WHERE status = 'pending';
    CREATE TABLE history (item bigint NOT NULL, attempt integer NOT NULL, worker text NOT NULL,
        outcome text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (item, attempt));";

const ENQUEUE: &str = "INSERT INTO item (id, payload) SELECT * FROM unnest($1::text[], $2::text[])";

const CLAIM: &str = "
    UPDATE item SET status = 'running', worker = $1, changed = now()
    WHERE number IN (SELECT number FROM item WHERE status = 'pending'
        ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING number, payload";

/// One statement, and so one transaction.
const SETTLE: &str = "
    WITH done AS (UPDATE item SET status = 'succeeded', changed = now()
        WHERE number = ANY($1) AND worker = $2 RETURNING number)
    INSERT INTO history (item, attempt, worker, outcome)
    SELECT number, 1, $2, 'succeeded' FROM done";

/// Puts these items in, and handles them, so many at a time, in a schema of its own.
pub(crate) async fn by_hand(
    url: &str,
    schema: &str,
    items: Vec<NewItem>,
    at_a_time: usize,
) -> Duration {
    let client = open(url, schema).await;
    let tables = format!("CREATE SCHEMA {schema}; {TABLES}");
    client.batch_execute(&tables).await.expect("a new schema");
    let count = items.len();
    let mut shares = vec![Vec::new(); CLIENTS];
    for (at, item) in items.into_iter().enumerate() {
        shares[at % CLIENTS].push(item);
    }
    let mut clients = JoinSet::new();
    let start = Instant::now();
    for (number, share) in shares.into_iter().enumerate() {
        let client = open(url, schema).await;
        clients.spawn(work(client, format!("worker-{number}"), share, at_a_time));
    }
    clients.join_all().await;
    let spent = start.elapsed();
    let written = client.query_one("SELECT count(*) FROM history", &[]).await;
    let written: i64 = written.expect("the table").get(0);
    assert_eq!(usize::try_from(written), Ok(count));
    let dropped = format!("DROP SCHEMA {schema} CASCADE");
    client.batch_execute(&dropped).await.expect("it is there");
    spent
}

async fn open(url: &str, schema: &str) -> Client {
    let (client, connection) = connect(url, NoTls).await.expect("a server");
    tokio::spawn(connection);
    let path = format!("SET search_path = {schema}");
    client.batch_execute(&path).await.expect("a setting of each server");
    client
}

/// One client's share of the items goes in; then it takes what there is.
async fn work(client: Client, worker: String, share: Vec<NewItem>, at_a_time: usize) {
    let enqueue = client.prepare(ENQUEUE).await.expect("SQL");
    let claim = client.prepare(CLAIM).await.expect("SQL");
    let settle = client.prepare(SETTLE).await.expect("SQL");
    for batch in share.chunks(at_a_time) {
        let (ids, payloads): (Vec<&str>, Vec<&str>) =
            batch.iter().map(|item| (item.id.as_str(), item.payload.as_str())).unzip();
        client.execute(&enqueue, &[&ids, &payloads]).await.expect("a server");
    }
    let most = i64::try_from(at_a_time).expect("a number of items");
    loop {
        let rows = client.query(&claim, &[&worker, &most]).await.expect("a server");
        if rows.is_empty() {
            break;
        }
        let numbers: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        client.execute(&settle, &[&numbers, &worker]).await.expect("a server");
    }
}
