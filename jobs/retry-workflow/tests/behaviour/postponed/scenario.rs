//! The tests that every store passes: an item that is not ready comes back later.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::AttemptOutcome;
use retry_workflow::{Class, Policy, Store, Workflow, keyed, work};

pub(crate) async fn run(store: Arc<dyn Store>) {
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let calls = Arc::new(AtomicU32::new(0));
    let job = async |stop_after: u32| {
        let (seen, calls) = (Arc::clone(&seen), Arc::clone(&calls));
        let stop = {
            let calls = Arc::clone(&calls);
            async move {
                while calls.load(Ordering::Relaxed) < stop_after {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        Workflow::new("import")
            .store(Arc::clone(&store))
            .retry(Policy::new().attempts(1))
            .stop_on(stop)
            .run(keyed([1_u32], ToString::to_string), move |_: u32, cx| {
                seen.lock().unwrap().push((cx.attempt(), cx.retry_count()));
                let number = calls.fetch_add(1, Ordering::Relaxed);
                async move {
                    if number < 3 {
                        cx.postpone(Duration::from_millis(1_200));
                        return Err("the export is not there yet");
                    }
                    Ok(())
                }
            })
            .await
            .unwrap()
    };
    // Another process stopped in between.
    assert_eq!(job(2).await.counts.pending, 1);
    let item = store.item("import-1", "1").await.unwrap().unwrap();
    assert_eq!((item.attempt, item.history.len()), (0, 0));
    let row = work::postponed(&item).unwrap();
    let failure = row.failure.as_ref().unwrap();
    assert_eq!((row.outcome, row.wait), (AttemptOutcome::Postponed, Duration::from_millis(2_400)));
    assert_eq!((failure.times, failure.message.as_str()), (2, "the export is not there yet"));

    let report = job(u32::MAX).await;
    assert!(report.is_success(), "{report}");
    assert_eq!((report.counts.attempts, report.counts.waited), (1, Duration::ZERO));
    assert_eq!(*seen.lock().unwrap(), [(1, 0); 4], "no attempt was used up");
    let item = store.item("import-1", "1").await.unwrap().unwrap();
    let [postponed, succeeded] = &item.history[..] else { panic!("{item:?}") };
    assert_eq!(postponed.outcome, AttemptOutcome::Postponed);
    assert_eq!(postponed.failure.as_ref().unwrap().times, 3);
    assert_eq!(postponed.wait, Duration::from_millis(3_600));
    assert!(postponed.started > row.started && postponed.started < succeeded.started);
    assert_eq!((succeeded.outcome, succeeded.attempt), (AttemptOutcome::Succeeded, 1));
}

/// An item whose only attempt meets a limit twice, and another process continues in between.
pub(crate) async fn uncounted(store: Arc<dyn Store>) {
    let calls = Arc::new(AtomicU32::new(0));
    let job = async |stop_after: u32| {
        let (seen, calls) = (Arc::clone(&calls), Arc::clone(&calls));
        let stop = async move {
            while seen.load(Ordering::Relaxed) < stop_after {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        Workflow::new("upload")
            .store(Arc::clone(&store))
            .retry(Policy::new().attempts(1))
            .uncounted(Class::RATE_LIMIT)
            .stop_on(stop)
            .run(keyed([1_u32], ToString::to_string), move |_: u32, cx| {
                let number = calls.fetch_add(1, Ordering::Relaxed);
                async move {
                    assert_eq!(cx.attempt(), 1);
                    if number < 2 { Err("429 Too Many Requests") } else { Ok(()) }
                }
            })
            .await
            .unwrap()
    };
    assert_eq!(job(1).await.counts.pending, 1);
    let item = store.item("upload-1", "1").await.unwrap().unwrap();
    let row = work::postponed(&item).unwrap();
    assert_eq!((item.attempt, row.failure.as_ref().unwrap().class.as_str()), (0, "rate_limit"));

    let report = job(u32::MAX).await;
    assert!(report.is_success(), "{report}");
    assert_eq!((report.counts.attempts, calls.load(Ordering::Relaxed)), (1, 3));
    let item = store.item("upload-1", "1").await.unwrap().unwrap();
    assert_eq!(item.history[0].failure.as_ref().unwrap().times, 2);
}
