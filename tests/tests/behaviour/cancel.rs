//! `cancel = …`: a future that ends the current wait.

use std::cell::Cell;
use std::time::Duration;

use retry_runtime::{Reason, RetryError, retry};
use tokio::sync::watch;
use tokio::time::Instant;

const S: Duration = Duration::from_secs(1);

async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

#[retry(attempts = unlimited, initial_delay = "10s", max_delay = "10s", cancel = stopped(stop.clone()))]
async fn reconnect(
    calls: &Cell<u32>,
    stop: &watch::Receiver<bool>,
) -> Result<(), RetryError<String>> {
    calls.set(calls.get() + 1);
    Err("nobody is there".to_owned())
}

#[tokio::test(start_paused = true)]
async fn it_ends_the_wait_under_way() {
    let (stop, stopping) = watch::channel(false);
    let (calls, began) = (Cell::new(0), Instant::now());
    let stop_later = async {
        tokio::time::sleep(25 * S).await;
        stop.send(true).unwrap();
    };
    let (outcome, ()) = tokio::join!(reconnect(&calls, &stopping), stop_later);
    let error = outcome.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 3));
    assert_eq!(error.last().map(String::as_str), Some("nobody is there"));
    assert_eq!((began.elapsed(), calls.get()), (25 * S, 3));
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_always_begins_and_no_wait_does() {
    let (_stop, stopping) = watch::channel(true);
    let (calls, began) = (Cell::new(0), Instant::now());
    let error = reconnect(&calls, &stopping).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 1));
    assert_eq!((began.elapsed(), calls.get()), (Duration::ZERO, 1));
}

#[tokio::test(start_paused = true)]
async fn a_success_does_not_ask_for_it() {
    #[retry(cancel = asked(asks))]
    async fn fine(asks: &Cell<u32>) -> Result<u32, String> {
        Ok(7)
    }

    fn asked(asks: &Cell<u32>) -> std::future::Ready<()> {
        asks.set(asks.get() + 1);
        std::future::ready(())
    }

    let asks = Cell::new(0);
    assert_eq!(fine(&asks).await, Ok(7));
    assert_eq!(asks.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_error_is_the_last_one() {
    #[retry(cancel = std::future::ready(()))]
    async fn failing() -> Result<(), String> {
        Err("broken".to_owned())
    }
    assert_eq!(failing().await, Err("broken".to_owned()));
}
