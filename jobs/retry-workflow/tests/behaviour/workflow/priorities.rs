//! Jobs whose items are not equally urgent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::Alteration;
use retry_workflow::{Filter, ItemState, SqliteStore, Store, Workflow, policy};

type Order = Arc<Mutex<Vec<u32>>>;

/// Notes in which order numbers are handled; those that end in 3 fail.
fn job(order: &Order) -> impl Fn(u32) -> Result<(), String> + Clone + use<> {
    let order = Arc::clone(order);
    move |number| {
        order.lock().unwrap().push(number);
        if number % 10 == 3 { Err("no".to_owned()) } else { Ok(()) }
    }
}

#[tokio::test(start_paused = true)]
async fn the_most_urgent_items_come_first_and_equal_ones_in_their_order() {
    let order = Order::default();
    let handle = job(&order);
    let report = Workflow::new("ship")
        .max_parallel(1)
        .priority(|number| {
            i8::try_from(number.as_u64().unwrap_or_default() % 3).unwrap_or_default()
        })
        .run([10_u32, 11, 14, 20, 12, 15], move |number: u32, _| {
            let handle = handle.clone();
            async move { handle(number) }
        })
        .await
        .unwrap();
    assert_eq!(report.succeeded(), 6);
    // The remainders are 1, 2, 2, 2, 0 and 0.
    assert_eq!(*order.lock().unwrap(), [11, 14, 20, 10, 12, 15]);
}

#[tokio::test(start_paused = true)]
async fn the_last_of_thirty_thousand_items_is_among_the_first_if_it_is_the_most_urgent() {
    const LAST: u32 = 30_000;
    let (order, (stop, stopped)) = (Order::default(), tokio::sync::oneshot::channel::<()>());
    let stop = Arc::new(Mutex::new(Some(stop)));
    let handle = job(&order);
    let report = Workflow::new("ship")
        .max_parallel(1)
        .retry(policy!(attempts = 1))
        .priority(|number| if number.as_u64() == Some(LAST.into()) { 9 } else { 0 })
        .stop_on(async { drop(stopped.await) })
        .run(1..=LAST, move |number: u32, _| {
            let (handle, stop) = (handle.clone(), Arc::clone(&stop));
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if number == LAST {
                    stop.lock().unwrap().take();
                }
                handle(number)
            }
        })
        .await
        .unwrap();
    assert!(report.succeeded() < 20, "{report}");
    assert!(order.lock().unwrap().contains(&LAST));
}

#[tokio::test(start_paused = true)]
async fn a_redriven_item_is_as_urgent_as_before() {
    let (store, order) = (SqliteStore::in_memory(), Order::default());
    let run = |fails: bool| {
        let note = job(&order);
        Workflow::new("ship")
            .job_id("ship")
            .store(store.clone())
            .max_parallel(1)
            .retry(policy!(attempts = 1))
            .priority(|number| if number.as_u64() == Some(23) { 4 } else { 0 })
            .run([13_u32, 23], move |number: u32, _| {
                let handled = note(number);
                async move { if fails { handled } else { Ok(()) } }
            })
    };
    assert_eq!(run(true).await.unwrap().dead(), 2);
    let dead = Filter::job("ship").states([ItemState::Dead]);
    assert_eq!(
        store.alter(&dead, Alteration::redrive(Duration::ZERO), usize::MAX, store.now()).await,
        Ok(2)
    );
    assert_eq!(run(false).await.unwrap().succeeded(), 2);
    assert_eq!(*order.lock().unwrap(), [23, 13, 23, 13]);
}
