//! Lost, delayed and refused connections: each request takes effect once, and its answer is right.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use retry_workflow::store::{
    Alteration, AttemptOutcome, AttemptRecord, Change, Lease, LeaseKey, NewItem, Selection,
    Settled, Settlement,
};
use retry_workflow::{Failure, Filter, ItemState, Store, StoreError, Timestamp, Workflow, keyed};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{OwnServer, Place, execute, server};
use super::proxy::Proxy;

const MINUTE: Duration = Duration::from_secs(60);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_800_000_000 + seconds) * 1_000_000)
}

/// A store behind a proxy, with three items and with its statements already prepared.
async fn behind_a_proxy() -> Option<(PostgresStore, Proxy, Place)> {
    let place = Place::new()?;
    let proxy = Proxy::start(&place.url).await;
    let store = place.options().pool_size(1).connect(&proxy.url).await.expect("a store");
    let items = ["a", "b", "c"].map(|id| NewItem::new(id, "1"));
    assert_eq!(store.enqueue("job", items.into(), at(0)).await, Ok(3));
    // Statements are prepared and names are cached, so that the next request is the one under test.
    assert_eq!(
        store.claim("job", "worker", at(-1), Selection::Items { max: 1, starts: 1 }, MINUTE).await,
        Ok(Vec::new())
    );
    assert_eq!(store.settle(unknown(), Vec::new(), at(0)).await, Ok(vec![false]));
    Some((store, proxy, place))
}

/// A settlement that is rejected.
fn unknown() -> Vec<Settlement> {
    let row = AttemptRecord::new("worker", at(0), AttemptOutcome::Succeeded);
    vec![Settlement::new(LeaseKey { item: -1, token: 1 }, Settled::Released, vec![row])]
}

async fn claim_one(store: &PostgresStore, now: i64) -> Lease {
    let mut leases = store
        .claim("job", "worker", at(now), Selection::Items { max: 1, starts: 1 }, MINUTE)
        .await
        .expect("claimed");
    assert_eq!(leases.len(), 1);
    leases.remove(0)
}

fn settlement(lease: &Lease, end: Settled) -> Settlement {
    let row = AttemptRecord::new("worker", at(0), AttemptOutcome::Succeeded);
    Settlement::new(lease.key, end, vec![row])
}

/// Loses this many responses or requests of the statements that `work` runs.
async fn faulty<T>(
    proxy: &Proxy,
    answers: usize,
    questions: usize,
    work: impl Future<Output = T>,
) -> T {
    proxy.lose_answers(answers);
    proxy.lose_questions(questions);
    let done = work.await;
    assert!(proxy.is_done(), "something was to be lost");
    done
}

#[tokio::test]
async fn a_settlement_with_a_lost_response_takes_effect_once() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let ends = [
        Settled::Succeeded(None),
        Settled::RetryAt { due: at(500), checkpoint: None },
        Settled::dead(Failure::new("other", "no")),
    ];
    for (place, end) in ends.into_iter().enumerate() {
        let lease = claim_one(&store, 0).await;
        // Prepared again on the new connection.
        assert_eq!(store.settle(unknown(), Vec::new(), at(0)).await, Ok(vec![false]));
        let settlements = vec![settlement(&lease, end)];
        let settle = store.settle(settlements.clone(), Vec::new(), at(1));
        let settled = faulty(&proxy, 1, 0, settle).await;
        assert_eq!(settled, Ok(vec![true]), "{place}");
        let item = store.item("job", &lease.id).await.unwrap().unwrap();
        assert_eq!(item.history.len(), 1, "{item:?}");
        assert_eq!(store.counts("job").await.unwrap().attempts, place as u64 + 1);
        // A repeated request learns that the lease has ended.
        assert_eq!(store.settle(settlements, Vec::new(), at(2)).await, Ok(vec![false]));
    }
}

#[tokio::test]
async fn a_settlement_that_did_not_arrive_is_made() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let lease = claim_one(&store, 0).await;
    let settle =
        store.settle(vec![settlement(&lease, Settled::Succeeded(None))], Vec::new(), at(1));
    assert_eq!(faulty(&proxy, 0, 1, settle).await, Ok(vec![true]));
    let item = store.item("job", &lease.id).await.unwrap().unwrap();
    assert_eq!((item.state, item.history.len()), (ItemState::Succeeded, 1));
}

#[tokio::test]
async fn a_release_with_a_lost_response_is_valid_after_a_new_lease() {
    let Some((store, proxy, place)) = behind_a_proxy().await else { return };
    let lease = claim_one(&store, 0).await;
    let other = place.open().await;
    let release = Settlement::new(lease.key, Settled::Released, Vec::new());
    let takes = async {
        // As soon as it is due again, and before the request is repeated.
        loop {
            let leases = other
                .claim("job", "other", at(1), Selection::Items { max: 9, starts: 9 }, MINUTE)
                .await
                .expect("claimed");
            if leases.iter().any(|again| again.id == lease.id) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    proxy.lose_answers(1);
    let (settled, ()) = tokio::join!(store.settle(vec![release], Vec::new(), at(1)), takes);
    assert_eq!(settled, Ok(vec![true]));
    let item = store.item("job", &lease.id).await.unwrap().unwrap();
    assert_eq!((item.attempt, item.history.len()), (1, 0));
}

#[tokio::test]
async fn a_claim_with_a_lost_response_returns_its_leases() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let claim = store.claim("job", "worker", at(5), Selection::Items { max: 2, starts: 2 }, MINUTE);
    let leases = faulty(&proxy, 1, 0, claim).await.expect("claimed");
    let found: Vec<_> =
        leases.iter().map(|lease| (lease.id.as_str(), lease.attempt, lease.lost)).collect();
    assert_eq!(found, [("a", 1, 0), ("b", 1, 0)]);
    assert_eq!(store.counts("job").await.unwrap().leased, 2);
}

#[tokio::test]
async fn a_dropped_claim_releases_its_leases() {
    let Some((store, proxy, place)) = behind_a_proxy().await else { return };
    let other = place.open().await;
    assert_eq!(other.counts("job").await.unwrap().leased, 0);
    // For this long, the response with the leases is held back.
    proxy.delay(Duration::from_secs(1));
    let claim = store.claim("job", "worker", at(5), Selection::Items { max: 2, starts: 2 }, MINUTE);
    assert!(tokio::time::timeout(Duration::from_millis(50), claim).await.is_err());
    let begun = Instant::now();
    while other.counts("job").await.unwrap().leased == 0 {
        assert!(begun.elapsed() < MINUTE, "it was leased meanwhile");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while other.counts("job").await.unwrap().leased > 0 {
        assert!(begun.elapsed() < MINUTE, "and was given back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let item = other.item("job", "a").await.unwrap().unwrap();
    assert_eq!((item.state, item.attempt), (ItemState::Pending, 0));
}

#[tokio::test]
async fn a_cas_with_a_lost_response_takes_effect_once() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    assert_eq!(store.cas("k", 0, "one").await, Ok(true));
    assert_eq!(store.cas("k", 1, "two").await, Ok(true));
    assert_eq!(faulty(&proxy, 1, 0, store.cas("k", 2, "three")).await, Ok(true));
    assert_eq!(store.get("k").await, Ok(Some((3, "three".to_owned()))));
    // A value that someone else has written is not mistaken for ours.
    assert_eq!(faulty(&proxy, 1, 0, store.cas("k", 2, "four")).await, Ok(false));
}

/// Whichever response is lost, up to that of the commit.
#[tokio::test]
async fn an_update_with_a_lost_response_takes_effect_once() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let longer = || {
        let change: Change = Box::new(|values| {
            for value in values {
                value.get_or_insert_default().push('x');
            }
            Ok(())
        });
        store.update(["a", "b"].map(String::from).into(), change)
    };
    for spared in 0..4 {
        // The statements are prepared.
        assert_eq!(longer().await, Ok(()));
        proxy.lose_answer_after(spared);
        assert_eq!(longer().await, Ok(()));
        assert!(proxy.is_done(), "{spared}");
        let value = "x".repeat((spared + 1) * 2);
        let is_once = |(_, found): (u64, String)| found == value;
        for key in ["a", "b"] {
            assert!(store.get(key).await.unwrap().is_some_and(is_once), "{key}, after {spared}");
        }
    }
}

/// Whichever response is lost, up to that of the commit.
#[tokio::test]
async fn an_alteration_with_a_lost_response_takes_effect_once() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let items = (0..60).map(|n| NewItem::new(format!("item {n}"), "1")).collect();
    assert_eq!(store.enqueue("other", items, at(0)).await, Ok(60));
    let all = Selection::Items { max: 60, starts: 60 };
    let leases = store.claim("other", "worker", at(0), all, MINUTE).await.unwrap();
    let dead = |lease: &Lease| settlement(lease, Settled::dead(Failure::new("other", "no")));
    store.settle(leases.iter().map(dead).collect(), Vec::new(), at(1)).await.unwrap();
    let letters = Filter::job("other");
    let by_ada = || Alteration::Redrive {
        every: Duration::ZERO,
        by: Some("ada".to_owned()),
        from_failed: true,
    };
    let (mut left, mut lost) = (60, 0);
    for alteration in [by_ada(), Alteration::redrive(MINUTE), Alteration::Purge] {
        for spared in 0..3 {
            // The statements are prepared.
            assert_eq!(store.alter(&letters, alteration.clone(), 0, at(2)).await, Ok(0));
            proxy.lose_answer_after(spared);
            let altered = store.alter(&letters, alteration.clone(), 3, at(2)).await;
            lost += usize::from(proxy.is_done());
            proxy.lose_answers(0);
            left -= 3;
            assert_eq!(altered, Ok(3), "{alteration:?}, after {spared}");
            assert_eq!(store.counts("other").await.unwrap().dead, left, "{alteration:?}, {spared}");
        }
    }
    assert_eq!(lost, 9);
}

/// A promoted standby knows no number that it has not reached. This server has made the first
/// alteration; a standby that has not received it has not.
#[tokio::test]
async fn an_alteration_whose_number_the_server_does_not_know_is_made() {
    let Some(place) = Place::new() else { return };
    let sql = "CREATE SCHEMA IF NOT EXISTS behind; CREATE OR REPLACE FUNCTION \
               behind.pg_xact_status(xid8) RETURNS text LANGUAGE sql \
               AS 'SELECT pg_catalog.pg_xact_status(''9223372036854775807''::xid8)'";
    execute(&place.url, sql).await;
    let proxy = Proxy::start(&place.url).await;
    let url = format!("{}&options=-c%20search_path%3Dbehind,pg_catalog", proxy.url);
    let store = place.options().pool_size(1).connect(&url).await.expect("a store");
    let items = (0..6).map(|n| NewItem::new(format!("item {n}"), "1")).collect();
    assert_eq!(store.enqueue("job", items, at(0)).await, Ok(6));
    let all = Selection::Items { max: 6, starts: 6 };
    let leases = store.claim("job", "worker", at(0), all, MINUTE).await.unwrap();
    let dead = |lease: &Lease| settlement(lease, Settled::dead(Failure::new("other", "no")));
    store.settle(leases.iter().map(dead).collect(), Vec::new(), at(1)).await.unwrap();
    let redrive =
        async |max| store.alter(&Filter::job("job"), Alteration::redrive(MINUTE), max, at(2)).await;
    // The statements are prepared.
    assert_eq!(redrive(0).await, Ok(0));
    proxy.lose_answer_after(2);
    assert_eq!(redrive(2).await, Ok(2));
    assert!(proxy.is_done());
    assert_eq!(store.counts("job").await.unwrap().dead, 2);
}

#[tokio::test]
async fn items_enqueued_with_a_lost_response_exist_once() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let items = || ["d", "e"].map(|id| NewItem::new(id, "1")).to_vec();
    let added = faulty(&proxy, 1, 0, store.enqueue("job", items(), at(0))).await;
    assert_eq!(added, Ok(0), "it is not known that they were new");
    assert_eq!(store.counts("job").await.unwrap().pending, 5);
}

#[tokio::test]
async fn an_outage_costs_as_long_as_it_takes() {
    let Some((store, proxy, _place)) = behind_a_proxy().await else { return };
    let lease = claim_one(&store, 0).await;
    proxy.close();
    let begun = Instant::now();
    let settle =
        store.settle(vec![settlement(&lease, Settled::Succeeded(None))], Vec::new(), at(1));
    let outage = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        proxy.open();
    };
    let (settled, ()) = tokio::join!(settle, outage);
    assert_eq!(settled, Ok(vec![true]));
    let took = begun.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_secs(10)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn the_cause_is_reported_once_the_patience_ends() {
    let Some(place) = Place::new() else { return };
    let proxy = Proxy::start(&place.url).await;
    let options = place.options().patience(Duration::from_millis(300));
    let store = options.connect(&proxy.url).await.expect("a store");
    proxy.close();
    let begun = Instant::now();
    let error = store.counts("job").await.unwrap_err();
    assert!(matches!(error, StoreError::Access { .. }), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(error.to_string().contains("postgres://postgres@127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn a_server_that_crashes_is_waited_for() {
    if server().is_none() {
        return;
    }
    let Some((url, server)) = OwnServer::start(&["fsync=on"]) else { return };
    let store = PostgresStore::connect(&url).await.expect("a store");
    let items = (0..50).map(|id| NewItem::new(id.to_string(), "1")).collect();
    assert_eq!(store.enqueue("job", items, at(0)).await, Ok(50));
    let server = std::sync::Arc::new(server);
    for round in 0..3 {
        let leases = store
            .claim("job", "worker", at(round), Selection::Items { max: 10, starts: 10 }, MINUTE)
            .await
            .unwrap();
        assert_eq!(leases.len(), 10);
        let owned = std::sync::Arc::clone(&server);
        let restart = tokio::task::spawn_blocking(move || {
            owned.crash();
            owned.resume();
        });
        for lease in &leases {
            let settled =
                store.settle(vec![settlement(lease, Settled::Succeeded(None))], Vec::new(), at(1));
            assert_eq!(settled.await, Ok(vec![true]));
        }
        restart.await.unwrap();
    }
    let counts = store.counts("job").await.unwrap();
    assert_eq!((counts.succeeded, counts.leased, counts.attempts), (30, 0, 30));
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_tried_again() {
    let Some(place) = Place::new() else { return };
    let options = place.options().statement_timeout(Duration::from_millis(200));
    let store = options.connect(&place.url).await.expect("a store");
    assert_eq!(store.cas("k", 0, "one").await, Ok(true));
    // Another session locks the table for longer than the statement timeout.
    let schema = place.schema.clone();
    let url = place.url.clone();
    let hold = tokio::spawn(async move {
        let sql = format!("BEGIN; LOCK TABLE {schema}.vals; SELECT pg_sleep(1); COMMIT");
        execute(&url, &sql).await;
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    assert_eq!(store.cas("k", 1, "two").await, Ok(true));
    assert!(begun.elapsed() > Duration::from_millis(400), "{:?}", begun.elapsed());
    hold.await.unwrap();
}

#[tokio::test]
async fn a_server_without_a_connection_to_spare_is_waited_for() {
    if server().is_none() {
        return;
    }
    let settings = ["max_connections=5", "superuser_reserved_connections=1", "fsync=off"];
    let Some((url, _server)) = OwnServer::start(&settings) else { return };
    execute(&url, "CREATE ROLE worker LOGIN; CREATE SCHEMA retry AUTHORIZATION worker").await;
    let url = url.replace("postgres://postgres@", "postgres://worker@");
    let store = PostgresStore::connect(&url).await.expect("a store");
    assert_eq!(store.cas("k", 0, "one").await, Ok(true));
    let mut taken = Vec::new();
    while let Ok((client, connection)) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await
    {
        tokio::spawn(connection);
        taken.push(client);
    }
    assert!(!taken.is_empty());
    // More at once than there are connections.
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.cas(&format!("k{number}"), 0, "1").await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(taken);
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(true));
    }
    assert_eq!(store.values("k").await.map(|values| values.len()), Ok(21));
}

#[tokio::test]
async fn a_read_only_server_is_reported_as_such() {
    let Some(place) = Place::new() else { return };
    drop(place.open().await);
    let url = format!("{}&options=-c%20default_transaction_read_only%3Don", place.url);
    let store = place.options().connect(&url).await.expect("it can be looked at");
    assert_eq!(store.get("k").await, Ok(None));
    let error = store.cas("k", 0, "one").await.unwrap_err();
    let why = error.to_string();
    assert!(why.contains("read-only") && why.contains("name the primary"), "{why}");
}

#[tokio::test]
async fn opening_a_read_only_server_names_the_primary() {
    if server().is_none() {
        return;
    }
    let Some((url, _server)) = OwnServer::start(&["default_transaction_read_only=on"]) else {
        return;
    };
    for url in [url.clone(), format!("{url}&target_session_attrs=read-write")] {
        let begun = Instant::now();
        let why = PostgresStore::connect(&url).await.unwrap_err().to_string();
        assert!(why.contains("read-only") && why.contains("name the primary"), "{why}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{url}: {:?}", begun.elapsed());
    }
}

/// Makes a server read-only, or writable again.
async fn set_read_only(url: &str, is_read_only: bool) {
    let value = if is_read_only { "on" } else { "off" };
    execute(url, &format!("ALTER SYSTEM SET default_transaction_read_only = {value}")).await;
    execute(url, "SELECT pg_reload_conf()").await;
}

#[tokio::test]
async fn a_server_that_is_read_only_for_seconds_is_waited_for() {
    if server().is_none() {
        return;
    }
    let Some((url, _server)) = OwnServer::start(&["fsync=off"]) else { return };
    for (job, own) in [("any", ""), ("read-write", "&target_session_attrs=read-write")] {
        let store = PostgresStore::connect(&format!("{url}{own}")).await.expect("a store");
        let failover = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            set_read_only(&url, true).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            set_read_only(&url, false).await;
        };
        let begun = Instant::now();
        let worker = Workflow::new(job).store(store).max_parallel(4).run(
            keyed(0..60_u32, u32::to_string),
            |_: u32, _| async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok::<_, String>(())
            },
        );
        let (report, ()) = tokio::join!(worker, failover);
        let report = report.expect("the worker waited");
        assert_eq!((report.succeeded(), report.dead()), (60, 0), "{own}: {report}");
        let took = begun.elapsed();
        assert!((Duration::from_secs(3)..Duration::from_secs(15)).contains(&took), "{took:?}");
    }
}

#[tokio::test]
async fn a_wait_for_a_read_only_server_is_logged_and_ends_with_the_patience() {
    if server().is_none() {
        return;
    }
    let Some((url, _server)) = OwnServer::start(&["fsync=off"]) else { return };
    for own in ["", "&target_session_attrs=read-write"] {
        let options = PostgresStore::options().patience(Duration::from_millis(700));
        let store = options.connect(&format!("{url}{own}")).await.expect("a store");
        let (revision, _) = store.get("k").await.unwrap().unwrap_or_default();
        assert_eq!(store.cas("k", revision, "one").await, Ok(true));
        set_read_only(&url, true).await;
        // The configuration arrives at the sessions a little later.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let waits = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&waits);
        let listening = retry_workflow::retry_runtime::on_event(move |event| {
            if event.name() == "retry_workflow_postgres" {
                heard.lock().unwrap().push(event.to_string());
            }
        });
        let begun = Instant::now();
        let why = store.cas("k", revision + 1, "two").await.unwrap_err().to_string();
        listening.stop();
        set_read_only(&url, false).await;
        assert!(why.contains("read-only") && why.contains("name the primary"), "{why}");
        assert!(begun.elapsed() > Duration::from_millis(300), "{:?}", begun.elapsed());
        let waits = std::mem::take(&mut *waits.lock().unwrap());
        let says = |line: &&String| line.contains("read-only") && line.contains("name the primary");
        assert!(waits.iter().filter(says).count() >= 2, "{own}: {waits:#?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A server and its address.
type Node = (String, OwnServer);

/// The combined address, a primary, and its standby.
fn with_standby() -> Option<(String, Node, Node)> {
    server()?;
    let primary = OwnServer::start(&["fsync=off"])?;
    let standby = OwnServer::start_standby(&primary.0)?;
    let (_, after) = standby.0.split_once('@').expect("a user");
    let (standby_host, _) = after.split_once('/').expect("a database");
    let both = primary.0.replacen("/postgres?", &format!(",{standby_host}/postgres?"), 1);
    Some((both, primary, standby))
}

/// Opens the store of a standby, once its tables have arrived there.
async fn opens(url: &str) -> PostgresStore {
    for _ in 0..1_000 {
        if let Ok(store) = PostgresStore::connect(url).await {
            return store;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    PostgresStore::connect(url).await.expect("a standby of a store")
}

/// Waits for a value to arrive at a standby.
async fn arrives(store: &PostgresStore, key: &str) -> String {
    loop {
        if let Some(value) = store.get(key).await.unwrap() {
            return value.1;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_standby_can_be_queried_and_reports_its_role() {
    let Some((_, primary, standby)) = with_standby() else { return };
    let writes = PostgresStore::connect(&primary.0).await.expect("a store");
    assert_eq!(writes.cas("k", 0, "one").await, Ok(true));
    let reads = opens(&standby.0).await;
    assert_eq!(arrives(&reads, "k").await, "one");
    let error = reads.cas("k", 1, "two").await.unwrap_err();
    let why = error.to_string();
    assert!(why.contains("read-only") && why.contains("name the primary"), "{why}");
}

#[tokio::test]
async fn a_job_continues_on_a_promoted_standby() {
    let Some((both, primary, standby)) = with_standby() else { return };
    let url = format!("{both}&target_session_attrs=read-write");
    let store = PostgresStore::connect(&url).await.expect("a store");
    let items = (0..50).map(|id| NewItem::new(id.to_string(), "1")).collect();
    assert_eq!(store.enqueue("job", items, at(0)).await, Ok(50));
    let leases = store
        .claim("job", "worker", at(1), Selection::Items { max: 10, starts: 10 }, MINUTE)
        .await
        .unwrap();
    assert_eq!(store.cas("k", 0, "said last").await, Ok(true));
    let reads = opens(&standby.0).await;
    assert_eq!(arrives(&reads, "k").await, "said last");
    // A result that is settled on a primary, but not yet on its standby, is lost with the primary.
    let crash = tokio::task::spawn_blocking(move || primary.1.crash());
    crash.await.unwrap();
    let failover = tokio::task::spawn_blocking(move || {
        standby.1.promote();
        standby
    });
    for lease in &leases {
        let settled =
            store.settle(vec![settlement(lease, Settled::Succeeded(None))], Vec::new(), at(1));
        assert_eq!(settled.await, Ok(vec![true]));
    }
    let _standby = failover.await.unwrap();
    let counts = store.counts("job").await.unwrap();
    assert_eq!((counts.succeeded, counts.pending, counts.attempts), (10, 40, 10));
}
