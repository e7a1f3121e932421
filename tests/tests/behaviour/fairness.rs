//! A call that does not wait still lets others run.

use std::cell::Cell;

use retry_runtime::{Backoff, Policy, Retrier, retry};

use crate::support::{Calls, Failure, secs};

#[tokio::test(start_paused = true)]
async fn zero_waits_do_not_starve_other_tasks() {
    #[retry(attempts = 100_000, backoff = fixed, initial_delay = "0s")]
    async fn spin(others_ran: &Cell<bool>, seen: &Cell<bool>) -> Result<(), Failure> {
        if others_ran.get() {
            seen.set(true);
            return Ok(());
        }
        Err(Failure::Corrupt)
    }
    let (others_ran, seen) = (Cell::new(false), Cell::new(false));
    let other = async { others_ran.set(true) };
    let (outcome, ()) = tokio::join!(biased; spin(&others_ran, &seen), other);
    assert_eq!(outcome, Ok(()));
    assert!(seen.get());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_spawned_task_gets_its_turn_beside_a_retrier_without_waits() {
    let policy = Policy::new().attempts(1_000_000).backoff(Backoff::Fixed).initial_delay(secs(0));
    let other = tokio::spawn(async {});
    let calls = Calls::new();
    let retrier = Retrier::new(policy);
    let run = retrier.run(|| {
        calls.make();
        let done = other.is_finished();
        async move { if done { Ok(()) } else { Err("not yet") } }
    });
    run.await.expect("the other task ran in between");
    assert!(calls.made() < 10_000, "{}", calls.made());
}
