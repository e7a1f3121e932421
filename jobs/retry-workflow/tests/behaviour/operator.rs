//! Users who change jobs and their items.

use std::time::Duration;

use retry_tests_support::events;
use retry_workflow::store::{AttemptOutcome, NewItem, Selection};
use retry_workflow::{
    DeadLetters, Filter, Job, Operator, Redrive, SqliteStore, StopReason, Store, Workflow, keyed,
    policy,
};

/// `orders-1`, with three dead letters.
async fn orders() -> SqliteStore {
    let store = SqliteStore::in_memory();
    Workflow::new("orders")
        .retry(policy!(attempts = 1))
        .store(store.clone())
        .run(keyed(1..=3_u32, u32::to_string), |n: u32, _| async move {
            Err::<(), _>(format!("{n} timed out"))
        })
        .await
        .unwrap();
    store
}

#[tokio::test(start_paused = true)]
async fn each_action_is_an_event_with_user_action_object_and_count() {
    let store = orders().await;
    let ada = Operator::new(store.clone(), "ada");
    let orders = || Filter::job("orders-1");
    events::collect();
    assert_eq!(ada.redrive(orders().ids(["1"]), Redrive::new()).await, Ok(1));
    let both = [orders().class("timeout").ids(["2", "7"]), Filter::job("none")];
    assert_eq!(ada.redrive(both, Redrive::new()).await, Ok(1));
    assert_eq!(ada.purge(&Filter::all()).await, Ok(1));
    assert_eq!(
        events::collect(),
        [
            r#"user="ada" action="re-drive" object="job orders-1, item 1" count=1"#,
            r#"user="ada" action="re-drive" object="job orders-1, 2 items, class timeout" count=1"#,
            r#"user="ada" action="re-drive" object="job none" count=0"#,
            r#"user="ada" action="purge" object="all dead letters" count=1"#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_re_drive_of_a_user_is_in_the_history() {
    let store = orders().await;
    let of = |id: &str| Filter::job("orders-1").ids([id]);
    DeadLetters::new(store.clone()).retry(of("1"), Redrive::new()).await.unwrap();
    assert_eq!(store.item("orders-1", "1").await.unwrap().unwrap().history.len(), 1);

    let now = store.now();
    Operator::new(store.clone(), "ada").redrive(of("2"), Redrive::new()).await.unwrap();
    let item = store.item("orders-1", "2").await.unwrap().unwrap();
    let [_, row] = &item.history[..] else { panic!("{item:?}") };
    assert_eq!((row.outcome, &*row.worker), (AttemptOutcome::Redriven, "ada"));
    assert_eq!((row.run, row.attempt, row.started), (1, 0, now));
    assert_eq!(store.counts("orders-1").await.unwrap().attempts, 3);
}

/// It stops as one that was there before, and what it holds ahead is skipped.
#[tokio::test(start_paused = true)]
async fn a_worker_that_joins_a_cancelled_job_is_stopped() {
    let store = SqliteStore::in_memory();
    let job = Job::create(&store, "orders", None).await.unwrap();
    let items = |ids: std::ops::Range<u32>| ids.map(|id| NewItem::new(id.to_string(), "1"));
    store.enqueue(&job.id, items(0..1).collect(), store.now()).await.unwrap();
    let (one, minute) = (Selection::Items { max: 1, starts: 1 }, Duration::from_secs(60));
    assert_eq!(store.claim(&job.id, "elsewhere", store.now(), one, minute).await.unwrap().len(), 1);
    let ada = Operator::new(store.clone(), "ada");
    let cancels = async { ada.cancel(&job.id, &[]).await.unwrap() };
    let joins = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        store.enqueue(&job.id, items(1..100).collect(), store.now()).await.unwrap();
        let orders = Workflow::new("orders").store(store.clone()).max_parallel(2);
        orders
            .resume(&job.id, |_: u32, _| async {
                tokio::time::sleep(Duration::from_secs(20)).await;
                Ok::<_, String>(())
            })
            .await
            .unwrap()
    };
    let (skipped, report) = tokio::join!(cancels, joins);
    assert_eq!(report.stopped(), Some(&StopReason::Cancelled), "{report}");
    let counts = store.counts(&job.id).await.unwrap();
    assert_eq!((counts.succeeded, counts.skipped, skipped), (2, 98, 98));
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_another_machine_is_cancelled_when_it_ends() {
    let store = SqliteStore::in_memory();
    Job::create(&store, "orders", None).await.unwrap();
    let items = ["1", "2", "3"].map(|id| NewItem::new(id, "1")).to_vec();
    store.enqueue("orders-1", items, store.now()).await.unwrap();
    let (one, lease) = (Selection::Items { max: 1, starts: 1 }, Duration::from_secs(20));
    store.claim("orders-1", "elsewhere", store.now(), one, lease).await.unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(Operator::new(store.clone(), "ada").cancel("orders-1", &[]).await, Ok(3));
    assert!(begun.elapsed() >= lease);
    let counts = store.counts("orders-1").await.unwrap();
    assert_eq!((counts.skipped, counts.leased, counts.lost), (3, 0, 1));
}
