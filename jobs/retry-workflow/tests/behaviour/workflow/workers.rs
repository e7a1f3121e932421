//! Workers: how they share a job, what they wait for, and how many items they hold.

use std::time::Duration;

use retry_workflow::store::{NewItem, Selection};
use retry_workflow::{
    BreakerConfig, ErrorPolicy, SqliteStore, Store, WaitReason, Workflow, keyed, policy,
};
use tokio::time::Instant;

use super::support::{Calls, Waits, odd, refused};

#[tokio::test(start_paused = true)]
async fn two_workers_share_a_job_and_no_item_is_handled_twice() {
    let store = SqliteStore::in_memory();
    let calls = Calls::default();
    let run = || {
        let calls = calls.clone();
        Workflow::new("shared").job_id("shared").store(store.clone()).max_parallel(3).run(
            0..50_u32,
            move |n: u32, _| {
                calls.count(n);
                async move {
                    tokio::time::sleep(Duration::from_secs(100)).await;
                    odd(n)
                }
            },
        )
    };
    let (one, two) = tokio::join!(run(), run());
    assert_eq!(calls.sum(), 25 + 3 * 25);
    for report in [one.unwrap(), two.unwrap()] {
        assert_eq!((report.succeeded(), report.dead()), (25, 25));
    }
}

#[tokio::test(start_paused = true)]
async fn waits_of_a_worker_are_reported_with_their_reason() {
    let run = |store: SqliteStore, policy: ErrorPolicy, takes: fn(u32) -> u64, fails: u32| async move {
        let (waits, calls) = (Waits::default(), Calls::default());
        let hears = waits.clone();
        Workflow::new("waits")
            .job_id("waits")
            .store(store)
            .retry(policy!(attempts = 2, initial_delay = "10s"))
            .error_policy(policy)
            .on_event(move |event| hears.hear(event))
            .run(keyed([1_u32, 2], |n: &u32| n.to_string()), move |n: u32, _| {
                let calls = calls.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(takes(n))).await;
                    if n == fails && calls.count(n) == 1 { Err(refused()) } else { Ok(()) }
                }
            })
            .await
            .unwrap();
        waits.heard()
    };
    let heard = run(SqliteStore::in_memory(), ErrorPolicy::new(), |_| 0, 1).await;
    let [WaitReason::Due { wait, .. }] = heard[..] else { panic!("{heard:?}") };
    assert!((7..10).contains(&wait.as_secs()), "{wait:?}");

    let breaker = BreakerConfig::new().failure_threshold(1).timeout(Duration::from_secs(20));
    let policy = ErrorPolicy::new().circuit_breaker(breaker);
    let heard = run(SqliteStore::in_memory(), policy, |_| 0, 1).await;
    assert!(matches!(heard[0], WaitReason::Breaker { .. }), "{heard:?}");

    // Another worker has leased one of the items.
    let store = SqliteStore::in_memory();
    let now = store.now();
    store.enqueue("waits", vec![NewItem::new("2", "2")], now).await.unwrap();
    store
        .claim(
            "waits",
            "other",
            now,
            Selection::Items { max: 1, starts: 1 },
            Duration::from_secs(20),
        )
        .await
        .unwrap();
    let heard = run(store, ErrorPolicy::new(), |_| 0, 0).await;
    let [WaitReason::Lease { wait, .. }] = heard[..] else { panic!("{heard:?}") };
    assert!((17..20).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_with_few_free_slots_does_not_spin() {
    // With a busy loop, this clock would never advance.
    let report = Workflow::new("rests")
        .max_parallel(10)
        .run(0..10_u64, |n: u64, _| async move {
            tokio::time::sleep(Duration::from_secs(if n == 0 { 1 } else { 1_000 })).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert!(report.is_success());
}

#[tokio::test(start_paused = true)]
async fn no_place_stays_empty_while_items_wait() {
    let start = Instant::now();
    let duration = |n: u64| 10 + n % 12;
    let report = Workflow::new("places")
        .max_parallel(12)
        .run(0..120_u64, move |n: u64, _| async move {
            tokio::time::sleep(Duration::from_secs(duration(n))).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert!(report.is_success());
    let work: u64 = (0..120).map(duration).sum();
    let bound = work / 12 + duration(11);
    assert!(start.elapsed().as_secs() <= bound, "{:?} and not {bound}", start.elapsed());
}

/// On real time, because the test is about a blocked thread that cannot renew its leases.
#[tokio::test]
async fn handlers_that_block_the_only_thread_for_longer_than_a_lease_lose_nothing() {
    let calls = Calls::default();
    let report = Workflow::new("blocks")
        .lease(Duration::from_millis(100))
        .max_parallel(4)
        .run(0..6_u32, {
            let calls = calls.clone();
            move |n: u32, _| {
                calls.count(n);
                async {
                    std::thread::sleep(Duration::from_millis(120));
                    Ok::<_, String>(())
                }
            }
        })
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!((calls.sum(), report.counts.lost), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_may_change_its_thread() {
    fn can_move<T: Send>(future: T) -> T {
        future
    }

    let store = SqliteStore::in_memory();
    let workflow =
        || Workflow::new("moves").store(store.clone()).stop_on(std::future::pending::<()>());
    let handler = |_: u32, _: retry_workflow::ItemContext| async { Ok::<_, String>(()) };
    can_move(workflow().run([1, 2], handler)).await.unwrap();
    can_move(workflow().resume("moves-1", handler)).await.unwrap();
    let graph = retry_workflow::Graph::new("moves")
        .task(retry_workflow::Task::new("a", |_| async { Ok::<_, String>(()) }));
    can_move(graph.run()).await.unwrap();
}
