//! A suspect runs alone in its process, and so does its test: beside others, on paused clocks, it
//! would let their time pass while they wait for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::{NewItem, Selection};
use retry_workflow::{JobEvent, MemoryStore, Store, WaitReason, Workflow, keyed};

#[tokio::test(start_paused = true)]
async fn a_suspect_waits_to_be_alone_and_others_wait_for_it() {
    // Two workers have died with one item, and another takes longer than it waits for its turn.
    let store = MemoryStore::new();
    let now = store.now();
    store.enqueue("waits", vec![NewItem::new("2", "2")], now).await.unwrap();
    for second in 0..2 {
        let at = now + Duration::from_secs(second);
        let one = Selection::Items { max: 1, starts: 1 };
        store.claim("waits", "other", at, one, Duration::from_millis(1)).await.unwrap();
    }
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
