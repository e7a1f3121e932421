//! The test that every store passes: items of a running job are cancelled.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::AttemptOutcome;
use retry_workflow::{ItemState, Operator, Store, Workflow, keyed};
use tokio::time::{Instant, sleep};

/// The items whose handlers were dropped.
#[derive(Clone, Default)]
struct Dropped(Arc<Mutex<BTreeSet<u32>>>);

struct Guard(Dropped, u32);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().insert(self.1);
    }
}

pub(crate) async fn run(store: Arc<dyn Store>) {
    let dropped = Dropped::default();
    let (begun, mut has_begun) = tokio::sync::mpsc::channel(4);
    let run = {
        let dropped = dropped.clone();
        Workflow::new("import").store(Arc::clone(&store)).max_parallel(2).run(
            keyed(1..=4_u32, ToString::to_string),
            move |n: u32, _| {
                let (begun, guard) = (begun.clone(), Guard(dropped.clone(), n));
                async move {
                    begun.send(n).await.unwrap();
                    // Without a cancellation, they never end.
                    if n == 1 || n == 2 {
                        sleep(Duration::from_secs(3_600)).await;
                    }
                    drop(guard);
                    Ok::<_, String>(())
                }
            },
        )
    };
    let run = tokio::spawn(run);
    for _ in 0..2 {
        has_begun.recv().await.unwrap();
    }
    let ada = Operator::new(Arc::clone(&store), "ada");
    let cancelled = Instant::now();
    assert_eq!(ada.cancel_items("import-1", ["1", "4", "none"]).await, Ok(2));
    assert_eq!(has_begun.recv().await, Some(3), "its place is free");
    assert_eq!(ada.cancel_items("import-1", "2").await, Ok(1));
    let report = run.await.unwrap().unwrap();
    assert!(cancelled.elapsed() < Duration::from_secs(8), "{:?}", cancelled.elapsed());
    assert_eq!((report.succeeded(), report.counts.skipped), (1, 3));
    assert_eq!(dropped.0.lock().unwrap().iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    for (id, rows) in [("1", 1), ("2", 1), ("4", 0)] {
        let item = store.item("import-1", id).await.unwrap().unwrap();
        assert_eq!(item.state, ItemState::Skipped);
        assert_eq!(item.failure.unwrap().class, "cancelled");
        assert_eq!(item.history.len(), rows, "{id}");
        assert!(item.history.iter().all(|row| row.outcome == AttemptOutcome::Lost));
    }
    assert_eq!(ada.cancel_items("import-1", ["1", "3"]).await, Ok(0), "they have ended");
}
