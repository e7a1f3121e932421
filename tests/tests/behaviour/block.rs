//! `retrying!`: a block of a function instead of all of it.

use std::cell::Cell;
use std::future::{pending, ready};
use std::io;

use retry_runtime::{
    Backoff, BreakerConfig, CircuitBreaker, Interrupted, Policy, Reason, policy, retrying, sites,
};
use tokio::time::Instant;

use crate::support::{millis, secs};

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

/// Fails until it was called this often.
fn third(calls: &mut u32) -> io::Result<u32> {
    *calls += 1;
    if *calls < 3 { Err(refused()) } else { Ok(*calls) }
}

#[tokio::test(start_paused = true)]
async fn only_the_block_is_repeated_and_it_changes_the_variables_around_it() {
    let (mut before, mut calls) = (0, 0);
    let began = Instant::now();
    before += 1;
    let value = retrying!(name = "block.third", attempts = 5, async { third(&mut calls) }).await;
    assert_eq!((value.unwrap(), before, calls), (3, 1, 3));
    assert_eq!(began.elapsed(), secs(3));
}

#[test]
fn without_async_it_runs_at_once() {
    let mut calls = 0;
    let value = retrying!(name = "block.sync", initial_delay = "1ms", || third(&mut calls));
    assert_eq!(value.unwrap(), 3);
    let typed = retrying!(name = "block.typed", attempts = 1, || -> io::Result<u32> {
        let number: u32 = "7".parse().map_err(io::Error::other)?;
        Ok(number)
    });
    assert_eq!(typed.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_takes_its_context_and_leaves_early_with_its_type() {
    let value = retrying!(name = "block.context", attempts = 3, async |cx| -> io::Result<u32> {
        if !cx.is_last() {
            Err(refused())?;
        }
        Ok(cx.number())
    });
    assert_eq!(value.await.unwrap(), 3);
    let gave_up = retrying!(name = "block.gives-up", async |cx| -> Result<(), String> {
        if cx.number() == 1 {
            cx.give_up();
            return Err("for good".to_owned());
        }
        Ok(())
    });
    assert_eq!(gave_up.await.unwrap_err(), "for good");
}

#[tokio::test(start_paused = true)]
async fn retry_error_has_the_reason() {
    let call = retrying!(
        name = "block.tracked",
        attempts = 2,
        async || -> Result<(), retry_runtime::RetryError<io::Error>> { Err(refused()) }
    );
    let error = call.await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 2));
}

static DB: CircuitBreaker = CircuitBreaker::new("block", BreakerConfig::new().failure_threshold(2));

#[tokio::test(start_paused = true)]
async fn all_options_work_as_on_a_function() {
    let mut retried = 0;
    let call = retrying!(
        name = "block.options",
        attempts = 4,
        jitter = full,
        breaker = DB,
        retry_on = [network],
        timeout = "1s",
        on_retry = |_| retried += 1,
        on_failure = fallback(|error| error.attempts()),
        async || -> io::Result<u32> { Err(refused()) }
    );
    assert_eq!(call.await.unwrap(), 2, "the breaker opened");
    assert_eq!(retried, 1);
    let slow = retrying!(name = "block.slow", attempts = 2, timeout = "1s", async {
        std::future::pending::<io::Result<()>>().await
    });
    assert_eq!(slow.await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    let found =
        retrying!(name = "block.found", attempts = 2, retry_on = [ok(|n: &u32| *n < 9)], async {
            Ok::<_, io::Error>(7)
        });
    assert_eq!(found.await.unwrap(), 7);
    let missing = retrying!(name = "block.missing", attempts = 2, async { None::<u32> });
    assert_eq!(missing.await, None);
}

const PATIENT: Policy = policy!(attempts = 4, backoff = fixed);

struct Settings {
    attempts: u32,
    policy: Policy,
}

impl Settings {
    async fn calls(&mut self) -> u32 {
        let calls = Cell::new(0);
        let attempt = async || {
            calls.set(calls.get() + 1);
            Err::<(), _>(refused())
        };
        let _ = retrying!(name = "block.self", attempts = self.attempts, async { attempt().await })
            .await;
        let attempts = self.attempts + 1;
        let _ =
            retrying!(name = "block.local", attempts = attempts, async { attempt().await }).await;
        let _ = retrying!(name = "block.run-time", policy = self.policy, async { attempt().await })
            .await;
        let _ =
            retrying!(name = "block.constant", policy = PATIENT, async { attempt().await }).await;
        let _ = retrying!(name = "block.max", attempts = u32::MAX, budget = "1s", async {
            attempt().await
        })
        .await;
        calls.get()
    }
}

#[tokio::test(start_paused = true)]
async fn values_of_runtime_come_from_self_and_from_variables() {
    let mut settings = Settings { attempts: 2, policy: Policy::new().attempts(5) };
    assert_eq!(settings.calls().await, 2 + 3 + 5 + 4 + 2);
}

#[tokio::test(start_paused = true)]
async fn blocks_stand_in_loops_in_generic_functions_and_in_other_tasks() {
    async fn all<T: Copy + Into<u64> + Send>(items: &[T]) -> io::Result<u64> {
        let mut sum = 0;
        for item in items {
            let item = *item;
            if item.into() == 0 {
                continue;
            }
            sum += retrying!(name = "block.generic", attempts = 2, async move {
                Ok::<u64, io::Error>(item.into())
            })
            .await?;
        }
        Ok(sum)
    }
    let task = tokio::spawn(async { all(&[1_u32, 0, 2]).await });
    assert_eq!(task.await.unwrap().unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_block_is_listed_with_its_name_and_its_policy() {
    let call = retrying!(name = "block.listed", attempts = 7, async { Ok::<(), io::Error>(()) });
    call.await.unwrap();
    let site =
        sites().into_iter().find(|site| site.name() == "block.listed").expect("it is listed");
    assert_eq!(site.policy().map(|policy| policy.to_string().contains("7 attempts")), Some(true));
}

#[tokio::test(start_paused = true)]
async fn waits_end_where_a_block_is_cancelled() {
    let stop = async { tokio::time::sleep(millis(1_500)).await };
    let mut calls = 0;
    let call = retrying!(name = "block.cancelled", attempts = 9, cancel = stop, async {
        calls += 1;
        Err::<(), _>(refused())
    });
    assert!(call.await.is_err());
    assert_eq!(calls, 2);
}

/// An error that cannot hold an interruption.
#[derive(Debug, PartialEq)]
struct Down(u32);

/// The block states no type, so only its attempt shows it.
async fn slow(policy: Policy) -> Result<(), Down> {
    let mut calls = 0;
    retrying!(name = "block.slow", policy = policy, async {
        calls += 1;
        tokio::time::sleep(secs(20)).await;
        Err::<(), _>(Down(calls))
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn deadline_of_runtime_acts_between_attempts_if_the_error_cannot_hold_it() {
    let policy = Policy::new().backoff(Backoff::Fixed).attempts(9);
    assert_eq!(slow(policy.deadline(secs(30))).await, Err(Down(2)));
    let began = Instant::now();
    assert_eq!(slow(policy.attempts(2).timeout(secs(3))).await, Err(Down(2)));
    assert_eq!(began.elapsed(), secs(41));
}

#[tokio::test(start_paused = true)]
async fn deadline_of_runtime_cuts_off_an_attempt_whose_error_can_hold_it() {
    let policy = Policy::new().deadline(secs(30));
    let began = Instant::now();
    let call = retrying!(name = "block.cut", policy = policy, context = cx, async {
        if cx.number() > 1 {
            pending::<()>().await;
        }
        Err::<(), _>(refused())
    });
    assert_eq!(call.await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(began.elapsed(), secs(30));
}

#[tokio::test(start_paused = true)]
async fn block_that_is_cancelled_already_makes_an_attempt_only_if_its_error_needs_one() {
    let calls = Cell::new(0);
    let attempt = async || calls.set(calls.get() + 1);
    let needed = retrying!(name = "block.needed", cancel = ready(()), async {
        attempt().await;
        Err::<(), _>(Down(calls.get()))
    });
    assert_eq!(needed.await, Err(Down(1)));
    let policy = Policy::new().deadline(secs(30));
    let unmade = retrying!(name = "block.unmade", policy = policy, cancel = ready(()), async {
        attempt().await;
        Err::<(), _>(refused())
    });
    assert!(matches!(
        Interrupted::find_in(&unmade.await.unwrap_err()),
        Some(Interrupted::Cancelled)
    ));
    let values = retrying!(
        name = "block.values",
        retry_on = [ok(|value: &u32| *value == 0)],
        cancel = ready(()),
        async { 0 }
    );
    assert_eq!((values.await, calls.get()), (0, 1));
}
