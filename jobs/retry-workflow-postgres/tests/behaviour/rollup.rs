//! The roll-up over all jobs: who writes it, and when it is folded.

use retry_workflow::store::{Group, NewItem, Selection, Settled, Settlement, Summary};
use retry_workflow::{Failure, Filter, ItemRecord, ItemState, Store as _, Timestamp};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{execute, store};

const HOUR: std::time::Duration = std::time::Duration::from_secs(3_600);

/// A job with these items, each of which has become a dead letter in the second that it is given.
async fn failed_in(store: &PostgresStore, job: &str, items: &[(&str, i64)]) {
    let item = |&(id, second): &(&str, i64)| {
        let mut item = ItemRecord::new(job, id, "1");
        item.state = ItemState::Dead;
        item.ended = Some(Timestamp::from_micros(second * 1_000_000));
        item.failure = Some(Failure::new("other", "order 7 is bad"));
        item
    };
    let items: Vec<_> = items.iter().map(item).collect();
    let number = items.len() as u64;
    assert_eq!(store.import(items, Timestamp::from_micros(0)).await, Ok(number));
}

/// The hours of the only group over all jobs.
async fn over_all(store: &PostgresStore) -> Vec<(i64, u64)> {
    let groups = store.stats(&Filter::default()).await.unwrap();
    let [group] = &groups[..] else { panic!("{groups:?}") };
    group.hours.iter().map(|hour| (hour.hour.as_micros() / 3_600_000_000, hour.count)).collect()
}

#[tokio::test]
async fn a_roll_up_that_is_not_the_sum_of_the_groups_is_found() {
    let Some((store, place)) = store().await else { return };
    failed_in(&store, "one", &[("a", 0), ("b", 1)]).await;
    failed_in(&store, "two", &[("a", 2), ("b", 7_200)]).await;
    assert_eq!(over_all(&store).await, [(0, 3), (2, 1)]);
    assert!(store.check().await.unwrap().is_sound());
    let schema = &place.schema;
    execute(&place.url, &format!("UPDATE {schema}.rollup SET count = 9 WHERE hour = 0")).await;
    let found = store.check().await.unwrap().disagreements;
    let [wrong] = &found[..] else { panic!("{found:?}") };
    assert!(matches!(wrong.summary, Some(Summary::AllJobs { .. })), "{wrong:?}");
    assert_eq!((&*wrong.job, wrong.state, wrong.found), ("", ItemState::Dead, 3));
}

#[tokio::test]
async fn the_roll_up_of_a_renamed_schema_follows_removals() {
    let Some((store, place)) = store().await else { return };
    failed_in(&store, "one", &[("a", 0), ("b", 1)]).await;
    failed_in(&store, "two", &[("a", 2)]).await;
    drop(store);
    let renamed = format!("{}_renamed", place.schema);
    execute(&place.url, &format!("ALTER SCHEMA {} RENAME TO {renamed}", place.schema)).await;
    let store = place.options().schema(&renamed).connect(&place.url).await.unwrap();
    assert_eq!(over_all(&store).await, [(0, 3)]);
    assert_eq!(store.remove("one", 9, Vec::new()).await, Ok(2));
    assert_eq!(over_all(&store).await, [(0, 1)]);
    assert_eq!(store.remove("two", 9, Vec::new()).await, Ok(1));
    assert_eq!(store.stats(&Filter::default()).await, Ok(Vec::new()));
    assert!(store.check().await.unwrap().is_sound());
}

#[tokio::test]
async fn the_shards_of_past_hours_are_folded_into_one() {
    let Some((store, place)) = store().await else { return };
    let schema = &place.schema;
    failed_in(&store, "one", &[("a", 0), ("b", 3_600), ("c", 3_600)]).await;
    failed_in(&store, "two", &[("a", 1), ("b", 7_200)]).await;
    let shards = async || {
        let (client, connection) =
            tokio_postgres::connect(&place.url, tokio_postgres::NoTls).await.unwrap();
        let reading = tokio::spawn(connection);
        let sql = format!(
            "SELECT hour / 3600000000, shard < 0, count FROM {schema}.rollup ORDER BY hour, shard"
        );
        let rows = client.query(&sql, &[]).await.unwrap();
        let rows: Vec<(i64, bool, i64)> =
            rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
        drop(client);
        drop(reading.await);
        rows
    };
    let fail = async |hour: i64| {
        let now = Timestamp::from_micros(hour * 3_600_000_000 + 5);
        let id = format!("at-{hour}");
        let new = vec![NewItem::new(id, "{}")];
        assert_eq!(store.enqueue("three", new, now).await, Ok(1));
        let lease = std::time::Duration::from_secs(60);
        let one = Selection::Items { max: 1, starts: 1 };
        let leases = store.claim("three", "worker", now, one, lease).await.unwrap();
        let end = Settled::Dead(Failure::new("other", "order 7 is bad"));
        let end = Settlement::new(leases[0].key, end, Vec::new());
        assert_eq!(store.settle(vec![end], Vec::new(), now).await, Ok(vec![true]));
    };
    fail(2).await;
    let folded = shards().await;
    assert_eq!(folded[..2], [(0, true, 2), (1, true, 2)], "{folded:?}");
    assert!(folded[2..].iter().all(|row| row.0 == 2 && !row.1), "this hour is not over");
    assert_eq!(over_all(&store).await, [(0, 2), (1, 2), (2, 2)]);
    assert!(store.check().await.unwrap().is_sound());
    // The rest of a past hour is taken out of the folded rows.
    execute(&place.url, &format!("DELETE FROM {schema}.groups WHERE hour = 0")).await;
    assert_eq!(over_all(&store).await, [(1, 2), (2, 2)]);
    fail(4).await;
    let folded = shards().await;
    assert_eq!(folded[..2], [(1, true, 2), (2, true, 2)], "{folded:?}");
    assert_eq!(over_all(&store).await, [(1, 2), (2, 2), (4, 1)]);
}

/// Their rows are the same, and they take them in the same order.
#[tokio::test]
async fn workers_of_many_jobs_write_it_at_once() {
    let Some((_, place)) = store().await else { return };
    let place = std::sync::Arc::new(place);
    let work = |number: usize| {
        let place = std::sync::Arc::clone(&place);
        async move {
            let store = place.options().pool_size(1).connect(&place.url).await.unwrap();
            let job = format!("job-{number}");
            let failed = Filter::job(&job);
            let now = Timestamp::from_micros(7_200_000_000);
            let lease = std::time::Duration::from_secs(60);
            for round in 0..15 {
                let new = (0..12).map(|item| NewItem::new(format!("{round}-{item}"), "1"));
                assert_eq!(store.enqueue(&job, new.collect(), now).await, Ok(12));
                let all = Selection::Items { max: 12, starts: 12 };
                let leases = store.claim(&job, "worker", now, all, lease).await.unwrap();
                // Each in another order.
                let ends = leases.iter().enumerate().map(|(place, lease)| {
                    let kind = (place * (number + 1) + round) % 7;
                    let kind = ["a", "b", "c", "d", "e", "f", "g"][kind];
                    let end = Settled::Dead(Failure::new("other", format!("no {kind}")));
                    Settlement::new(lease.key, end, Vec::new())
                });
                let settled = store.settle(ends.collect(), Vec::new(), now).await.unwrap();
                assert!(settled.into_iter().all(|good| good));
                if round % 3 == number % 3 {
                    let some = store.redrive(&failed, Some(5), now, lease, None).await;
                    assert_eq!(some, Ok(5));
                }
            }
            match number % 4 {
                0 => assert!(store.purge(&failed).await.unwrap() > 0),
                1 => assert!(store.remove(&job, 999, Vec::new()).await.unwrap() > 0),
                _ => {}
            }
        }
    };
    let tasks: Vec<_> = (0..12).map(|number| tokio::spawn(work(number))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let store = place.open().await;
    let check = store.check().await.unwrap();
    assert!(check.is_sound(), "{check:?}");
    let groups = store.stats(&Filter::default()).await.unwrap();
    let looked = store.stats(&Filter::default().since(Timestamp::from_micros(0))).await.unwrap();
    let counts = |groups: &[Group]| -> Vec<_> {
        groups.iter().map(|group| (group.signature.clone(), group.count)).collect()
    };
    assert_eq!((groups.len(), counts(&groups)), (7, counts(&looked)));
}

/// An import is a transaction of several statements, which may take long.
#[tokio::test]
async fn an_import_does_not_block_other_jobs() {
    let Some((store, place)) = store().await else { return };
    failed_in(&store, "one", &[("a", 0)]).await;
    let (client, connection) =
        tokio_postgres::connect(&place.url, tokio_postgres::NoTls).await.unwrap();
    let reading = tokio::spawn(connection);
    // All rows that an import has written stay locked.
    let sql = format!("BEGIN; SELECT 1 FROM {}.rollup FOR UPDATE", place.schema);
    client.batch_execute(&sql).await.unwrap();
    let other = async {
        let now = Timestamp::from_micros(5);
        assert_eq!(store.enqueue("two", vec![NewItem::new("b", "1")], now).await, Ok(1));
        let why = Failure::new("other", "order 7 is bad");
        assert_eq!(store.skip("two", 1, why, now).await, Ok(1));
        assert_eq!(
            store.redrive(&Filter::job("two").ids(["b"]), None, now, HOUR, None).await,
            Ok(0)
        );
        let skipped = Filter::job("two").states([ItemState::Skipped]);
        assert_eq!(store.redrive(&skipped, None, now, HOUR, None).await, Ok(1));
    };
    let waited = std::time::Duration::from_secs(20);
    tokio::time::timeout(waited, other).await.expect("nobody waits");
    // The same kind, state and hour.
    let dead = async {
        let now = Timestamp::from_micros(5);
        let one = Selection::Items { max: 1, starts: 1 };
        let leases = store.claim("two", "worker", now, one, HOUR).await.unwrap();
        let end = Settled::Dead(Failure::new("other", "order 7 is bad"));
        let end = Settlement::new(leases[0].key, end, Vec::new());
        assert_eq!(store.settle(vec![end], Vec::new(), now).await, Ok(vec![true]));
    };
    tokio::time::timeout(waited, dead).await.expect("nobody waits");
    drop(client);
    drop(reading.await);
    assert_eq!(over_all(&store).await, [(0, 2)]);
}
