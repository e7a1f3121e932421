//! A waiter learns of changes by other processes through notifications; where these do not arrive,
//! by polling.

use std::time::{Duration, Instant};

use retry_workflow::store::{Alteration, NewItem, Selection, Settled, Settlement};
use retry_workflow::{Failure, Filter, Store, Timestamp, Workflow, keyed, policy};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{Place, execute};

const MINUTE: Duration = Duration::from_secs(60);

/// A job with a dead letter.
async fn with_a_dead_letter(store: &PostgresStore) {
    let (now, item) = (Timestamp::from_micros(1), NewItem::new("a", "1"));
    store.enqueue("job", vec![item], now).await.unwrap();
    bury(store).await;
}

async fn bury(store: &PostgresStore) {
    let now = Timestamp::from_micros(1);
    let lease = store
        .claim("job", "w", now, Selection::Items { max: 1, starts: 1 }, MINUTE)
        .await
        .unwrap()
        .remove(0);
    let end = Settled::dead(Failure::new("other", "no"));
    let dead = Settlement::new(lease.key, end, Vec::new());
    assert_eq!(store.settle(vec![dead], Vec::new(), now).await, Ok(vec![true]));
}

/// Consumes earlier notifications, and returns the count to wait on.
async fn quiet(store: &PostgresStore) -> u64 {
    let mut seen = 0;
    // Starting to listen counts as a change as well.
    let until = Instant::now() + Duration::from_millis(1500);
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        match tokio::time::timeout(left, store.changed("job", seen)).await {
            Ok(count) => seen = count.unwrap(),
            Err(_) => break,
        }
    }
    seen
}

#[tokio::test]
async fn a_redrive_by_another_process_wakes_within_100_ms() {
    let Some(place) = Place::new() else { return };
    let (waits, other) = (place.open().await, place.open().await);
    with_a_dead_letter(&other).await;
    let mut seen = quiet(&waits).await;
    let mut took = Vec::new();
    for _ in 0..9 {
        let own = waits.clone();
        let wait = tokio::spawn(async move { own.changed("job", seen).await.unwrap() });
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(!wait.is_finished(), "nothing has changed");
        let begun = Instant::now();
        let job = Filter::job("job");
        let now = Timestamp::from_micros(1);
        assert_eq!(
            other.alter(&job, Alteration::redrive(Duration::ZERO), usize::MAX, now).await,
            Ok(1)
        );
        seen = wait.await.unwrap();
        took.push(begun.elapsed());
        bury(&other).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    took.sort();
    assert!(took[4] < Duration::from_millis(100), "{took:?}");
}

#[tokio::test]
async fn an_overview_finds_an_item_that_another_process_has_added_in_the_past() {
    let Some(place) = Place::new() else { return };
    let (store, other) = (place.open().await, place.open().await);
    let now = store.now();
    let claimed = async || {
        let selection = Selection::Items { max: 9, starts: 9 };
        let leases = store.claim("job", "w", now, selection, MINUTE).await.unwrap();
        leases.into_iter().map(|lease| lease.id).collect::<Vec<_>>()
    };
    store.enqueue("job", vec![NewItem::new("first", "1")], now).await.unwrap();
    assert_eq!(claimed().await, ["first"]);
    let past = Timestamp::from_micros(1);
    other.enqueue("job", vec![NewItem::new("early", "1")], past).await.unwrap();
    assert_eq!(store.overview("job", 9).await.unwrap().next_due, Some(past));
    assert_eq!(claimed().await, ["early"]);
}

#[tokio::test]
async fn without_a_connection_to_listen_it_is_looked_each_second() {
    let Some(place) = Place::new() else { return };
    let role = format!("{}_alone", place.schema);
    execute(&place.url, &format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 1")).await;
    execute(&place.url, &place.options().sql(&role)).await;
    let url = place.url.replace("postgres://postgres@", &format!("postgres://{role}@"));
    let store = place.options().pool_size(1).connect(&url).await.expect("a store");
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(store.changed("job", 0).await, Ok(0));
        let took = begun.elapsed();
        assert!((Duration::from_millis(900)..Duration::from_secs(5)).contains(&took), "{took:?}");
    }
    assert_eq!(store.cas("k", 0, "one").await, Ok(true), "the pool has its connection");
}

#[tokio::test]
async fn a_disconnected_listener_polls_and_reconnects() {
    let Some(place) = Place::new() else { return };
    let (waits, other) = (place.open().await, place.open().await);
    with_a_dead_letter(&other).await;
    let seen = quiet(&waits).await;
    let own = waits.clone();
    let wait = tokio::spawn(async move { own.changed("job", seen).await.unwrap() });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'";
    execute(&place.url, &format!("{cut} AND query LIKE '%{}%'", place.schema)).await;
    let told = tokio::time::timeout(Duration::from_secs(5), wait).await;
    told.expect("whoever waits looks for what was missed").unwrap();
    let seen = quiet(&waits).await;
    let seen = seen.max(quiet(&waits).await);
    let own = waits.clone();
    let wait = tokio::spawn(async move { own.changed("job", seen).await.unwrap() });
    let job = Filter::job("job");
    other
        .alter(&job, Alteration::redrive(Duration::ZERO), usize::MAX, Timestamp::from_micros(1))
        .await
        .unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(5), wait).await.is_ok());
}

#[tokio::test]
async fn the_clock_is_that_of_the_server() {
    let Some((store, place)) = super::fixture::store().await else { return };
    let (client, connection) =
        tokio_postgres::connect(&place.url, tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    let mut last = store.now();
    for _ in 0..20 {
        let before = store.now();
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        let there: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
        let after = store.now();
        assert!(last <= before && before <= after, "it goes forward");
        let there = Timestamp::from_micros(there);
        // As precise as the first measurement, on a machine that may be busy.
        let near = Duration::from_millis(100);
        assert!(before <= there + near && there <= after + near, "{before} {there} {after}");
        last = after;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_on_a_stopped_clock_waits_for_no_time() {
    let Some((store, _place)) = super::fixture::store().await else { return };
    let begun = Instant::now();
    let start = store.now();
    let report = Workflow::new("import")
        .store(store.clone())
        .retry(policy!(attempts = 3, initial_delay = "1h", max_delay = "1h", backoff = fixed))
        .run(keyed(1..=5_u32, u32::to_string), |_: u32, cx| async move {
            if cx.retry_count() < 2 { Err("not yet") } else { Ok(()) }
        })
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    assert!(store.now().since(start) >= Duration::from_secs(7200));
    assert!(begun.elapsed() < 60 * MINUTE, "less than the first wait: {:?}", begun.elapsed());
}
