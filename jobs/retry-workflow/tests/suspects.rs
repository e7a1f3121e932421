//! A suspect runs alone in its process, and so does its test: beside others, on paused clocks, it
//! would let their time pass while they wait for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::{NewItem, Selection};
use retry_workflow::{JobEvent, Rate, SqliteStore, Store, WaitReason, Workflow, keyed, policy};
use tokio::time::Instant;

/// All tests wait for the lock of the process, on clocks that are paused: one at a time.
static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A store in which two workers have died with item 2.
async fn with_suspect() -> SqliteStore {
    let store = SqliteStore::in_memory();
    let now = store.now();
    store.enqueue("waits", vec![NewItem::new("2", "2")], now).await.unwrap();
    for (second, worker) in [(0, "one"), (1, "two")] {
        let at = now + Duration::from_secs(second);
        let one = Selection::Items { max: 1, starts: 1 };
        store.claim("waits", worker, at, one, Duration::from_millis(1)).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    store
}

#[tokio::test(start_paused = true)]
async fn a_suspect_waits_until_its_worker_is_five_seconds_old() {
    let _one = ONE.lock().await;
    let waits = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&waits);
    let starts = Arc::new(Mutex::new(BTreeMap::new()));
    let started = Arc::clone(&starts);
    let store = with_suspect().await;
    let begun = Instant::now();
    Workflow::new("waits")
        .job_id("waits")
        .store(store)
        .retry(policy!(attempts = 2, backoff = fixed, initial_delay = "3s"))
        .on_event(move |event| {
            if let JobEvent::Progress { waits_for: Some(reason), .. } = event {
                listener.lock().unwrap().push(*reason);
            }
        })
        .run(keyed([1_u32, 2], |n: &u32| n.to_string()), move |n: u32, context| {
            started.lock().unwrap().entry(n).or_insert_with(Vec::new).push(begun.elapsed());
            async move { if n == 1 && context.attempt() == 1 { Err("again") } else { Ok(()) } }
        })
        .await
        .unwrap();
    let starts = starts.lock().unwrap();
    let [first, again] = starts[&1][..] else { panic!("{starts:?}") };
    assert!(first.is_zero(), "{first:?}");
    assert!((3_000..3_200).contains(&again.as_millis()), "others go on: {again:?}");
    let [suspect] = starts[&2][..] else { panic!("{starts:?}") };
    assert!((5_000..5_200).contains(&suspect.as_millis()), "{suspect:?}");
    let waits = waits.lock().unwrap();
    let [WaitReason::NewWorker { wait, .. }, ..] = waits[..] else { panic!("{waits:?}") };
    assert!((3..5).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_suspect_waits_to_be_alone_and_others_wait_for_it() {
    let _one = ONE.lock().await;
    // Another item takes longer than it waits for its turn.
    let store = with_suspect().await;
    let heard = Arc::new(Mutex::new(Vec::<WaitReason>::new()));
    let listener = Arc::clone(&heard);
    Workflow::new("waits")
        .job_id("waits")
        .store(store)
        .on_event(move |event| {
            if let JobEvent::Progress { waits_for: Some(reason), .. } = event {
                let mut reasons = listener.lock().unwrap();
                if reasons.last() != Some(reason) {
                    reasons.push(*reason);
                }
            }
        })
        .run(keyed([1_u32, 2], |n: &u32| n.to_string()), |_: u32, _| async {
            tokio::time::sleep(Duration::from_secs(90)).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert_eq!(*heard.lock().unwrap(), [WaitReason::Alone, WaitReason::Suspect]);
}

/// A name, a job with that limit, and a time.
type Limited<'a> = (&'a str, &'a dyn Fn(Workflow) -> Workflow, u64);

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_suspect_starts_when_the_limits_of_its_job_let_it() {
    let _one = ONE.lock().await;
    let host = |_: &serde_json::Value| Some("host".to_owned());
    // Each with the most seconds that it may take.
    let limits: [Limited<'_>; 5] = [
        ("a rate", &|job| job.rate(rate("10/s")), 10),
        ("a slow rate", &|job| job.rate(rate("1/m")), 250),
        ("a rate by key", &|job| job.rate_per(host, rate("10/s")), 10),
        ("a slow rate by key", &|job| job.rate_per(host, rate("1/m")), 250),
        ("places by key", &|job| job.concurrency_per(host, 1), 10),
    ];
    for (limit, with_limit, most) in limits {
        let begun = Instant::now();
        let job = with_limit(Workflow::new("waits").job_id("waits").store(with_suspect().await));
        let items = keyed([1_u32, 2, 3, 4], u32::to_string);
        let report = job.run(items, |_: u32, _| async { Ok::<_, String>(()) });
        let hour = Duration::from_hours(1);
        let report = tokio::time::timeout(hour, report).await.expect(limit).unwrap();
        assert_eq!((report.succeeded(), report.counts.attempts), (4, 4), "{limit}");
        assert!(begun.elapsed() < Duration::from_secs(most), "{limit}: {:?}", begun.elapsed());
    }
}

/// Four workers have died while they ran the item alone.
#[tokio::test(start_paused = true)]
async fn max_lost_bounds_the_workers_that_an_item_kills_alone() {
    let _one = ONE.lock().await;
    for (most, succeeds) in
        [(None, false), (Some(4), false), (Some(5), true), (Some(u32::MAX), true)]
    {
        let store = with_suspect().await;
        let now = store.now();
        for second in 0..4 {
            let at = now + Duration::from_secs(second);
            let (worker, lease) = (format!("alone-{second}"), Duration::from_millis(1));
            let lost = store.claim("waits", &worker, at, Selection::Suspect, lease).await.unwrap();
            assert_eq!((lost.len(), lost[0].strikes()), (1, u32::try_from(second).unwrap()));
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        let workflow = Workflow::new("waits").job_id("waits").store(store);
        let workflow = match most {
            Some(most) => workflow.max_lost(most),
            None => workflow,
        };
        let items = keyed([2_u32], ToString::to_string);
        let report = workflow.run(items, |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
        assert_eq!(report.is_success(), succeeds, "{most:?}: {report}");
        assert_eq!(report.classes.contains_key("lost"), !succeeds, "{report}");
    }
}
