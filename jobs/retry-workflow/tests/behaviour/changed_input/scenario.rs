//! The test that every store passes: the input of an unfinished job changes.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use retry_workflow::{JobEvent, Store, Workflow, WorkflowError, keyed};
use tokio::sync::Semaphore;

type Order = (String, u32);

/// A stream that never ends after these items.
struct Unfinished(std::vec::IntoIter<Order>);

impl futures_core::Stream for Unfinished {
    type Item = Order;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Order>> {
        self.0.next().map_or(Poll::Pending, |order| Poll::Ready(Some(order)))
    }
}

fn orders(orders: &[(&str, u32)]) -> Vec<Order> {
    orders.iter().map(|(id, number)| ((*id).to_owned(), *number)).collect()
}

fn key(order: &Order) -> String {
    order.0.clone()
}

pub(crate) async fn run(store: Arc<dyn Store>) {
    let workflow = |name| Workflow::new(name).store(Arc::clone(&store));
    let works = |_: Order, _| async { Ok::<_, String>(()) };

    // Two orders have one key.
    let same = orders(&[("a", 1), ("b", 1), ("a", 2)]);
    let refused = workflow("twice").run(keyed(same, key), works).await.unwrap_err();
    assert!(matches!(&refused, WorkflowError::SameId { item } if item == "a"), "{refused}");
    let equal = orders(&[("a", 1), ("b", 1), ("a", 1)]);
    assert_eq!(workflow("equal").run(keyed(equal, key), works).await.unwrap().succeeded(), 2);

    // The process ends before it has read all items.
    let began = Unfinished(orders(&[("a", 1), ("b", 1), ("c", 1)]).into_iter());
    let ended = Arc::new(Semaphore::new(0));
    let (counted, all) = (Arc::clone(&ended), async move { drop(ended.acquire_many(3).await) });
    let stopped = workflow("ship").stop_on(all).run(keyed(began, key), move |_: Order, _| {
        counted.add_permits(1);
        async { Ok::<_, String>(()) }
    });
    assert_eq!(stopped.await.unwrap().succeeded(), 3);

    // The same items would get other ids, and run twice.
    let edited = orders(&[("b", 1), ("c", 2), ("d", 1), ("e", 1)]);
    let refused = workflow("ship").run(edited.clone(), works).await.unwrap_err();
    assert!(
        matches!(&refused, WorkflowError::OtherIds { job, .. } if job == "ship-1"),
        "{refused}"
    );

    let inputs = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&inputs);
    let report = workflow("ship")
        .on_event(move |event| {
            if let JobEvent::Input { new, known, changed, gone, .. } = *event {
                seen.lock().unwrap().push((new, known, changed, gone));
            }
        })
        .run(keyed(edited, key), works)
        .await
        .unwrap();
    assert_eq!(*inputs.lock().unwrap(), [(2, 2, 1, 1)]);
    assert_eq!((report.succeeded(), report.already_done, report.changed), (5, 2, 1), "{report}");
    assert_eq!(report.counts.attempts, 5);
    let kept = store.item("ship-1", "c").await.unwrap().expect("it is kept");
    assert_eq!(kept.payload, "[\"c\",1]");
}
