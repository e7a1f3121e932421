//! Functions that are not async: the thread sleeps.
//!
//! The waits are real here, so they take only a millisecond.

use std::time::Instant;

use retry_runtime::{Backoff, Policy, Reason, Retrier, RetryError, retry};
use tracing::Level;

use crate::support::{Calls, Failure, listen, millis, take_events};

const SOON: Policy = Policy::new().backoff(Backoff::Fixed).initial_delay(millis(1));

#[test]
fn it_waits_between_the_attempts() {
    #[retry(attempts = 3, backoff = fixed, initial_delay = "3ms")]
    fn fetch(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        let call = calls.make();
        if call == 1 {
            Err(Failure::Busy(call))?;
        }
        if call == 2 {
            return Err(Failure::Busy(call));
        }
        Ok(call)
    }
    let start = Instant::now();
    assert_eq!(fetch(&Calls::new()), Ok(3));
    assert!(start.elapsed() >= millis(6));
}

#[test]
fn a_sync_call_needs_no_runtime_and_has_a_reason() {
    #[retry(policy = SOON, attempts = 4, budget = "2ms")]
    fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let error = fetch(&Calls::new()).unwrap_err();
    assert_eq!((error.reason(), error.attempts(), error.waited()), (Reason::Budget, 3, millis(2)));
}

#[test]
fn an_option_is_one_more_outcome() {
    #[retry(policy = SOON)]
    fn find(calls: &Calls) -> Option<u32> {
        (calls.make() == 3).then_some(7)
    }
    assert_eq!(find(&Calls::new()), Some(7));
}

/// The names in the warnings received so far.
fn warnings() -> Vec<String> {
    let mut heard = take_events();
    heard.retain(|event| event.message.starts_with("sleeps on a thread"));
    assert!(heard.iter().all(|event| event.level == Level::WARN));
    heard.iter().map(|event| event.field("name").expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn on_a_thread_that_drives_async_tasks_it_warns_once() {
    #[retry(policy = SOON)]
    fn stalls() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(policy = SOON)]
    fn stalls_too() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    listen();
    for _ in 0..3 {
        stalls().unwrap_err();
    }
    assert_eq!(warnings(), ["behaviour::sync::stalls"]);
    stalls_too().unwrap_err();
    assert_eq!(warnings(), ["behaviour::sync::stalls_too"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn on_a_worker_of_a_runtime_it_warns_too() {
    listen();
    let warned = tokio::spawn(async {
        let _ = take_events();
        let _ = Retrier::new(SOON).name("in a task").run_sync(|| Err::<(), _>("down"));
        warnings()
    });
    assert_eq!(warned.await.unwrap(), ["in a task"]);
}

#[tokio::test]
async fn a_sync_call_on_a_blocking_thread_does_not_warn() {
    listen();
    let warned = tokio::task::spawn_blocking(|| {
        let _ = take_events();
        let _ = Retrier::new(SOON).name("blocking").run_sync(|| Err::<(), _>("down"));
        warnings()
    });
    assert_eq!(warned.await.unwrap(), [""; 0]);

    let outside = std::thread::spawn(|| {
        let _ = Retrier::new(SOON).name("outside").run_sync(|| Err::<(), _>("down"));
        warnings()
    });
    assert_eq!(outside.join().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_call_that_does_not_wait_does_not_warn() {
    listen();
    Retrier::new(SOON).name("at once").run_sync(|| Ok::<_, Failure>(7)).unwrap();
    assert_eq!(warnings(), [""; 0]);
}

#[tokio::test]
async fn looking_for_the_thread_costs_the_task_nothing() {
    // The check takes units of the task's budget, and has to return them: otherwise, the next await
    // would yield, or wait forever.
    let _ = Retrier::new(SOON).name("a look").run_sync(|| Err::<(), _>("down"));
    assert!(tokio::task::coop::has_budget_remaining());
}
