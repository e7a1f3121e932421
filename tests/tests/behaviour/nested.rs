//! Retries inside retries: how they multiply, how that is reported, and `nested = once`, which
//! makes them add up.

use retry_runtime::{Reason, RetryError, on_event, retry};
use std::sync::{Arc, Mutex};
use tokio::time::sleep;
use tracing::Level;

use crate::support::{Calls, Failure, Recorded, listen, millis, take_events};

/// The events about multiplied retries among those received.
fn nested(heard: Vec<Recorded>) -> Vec<Recorded> {
    heard.into_iter().filter(|event| event.field("inner").is_some()).collect()
}

fn told(
    level: Level,
    message: &str,
    [name, retries, inner, inner_attempts]: [&str; 4],
) -> Recorded {
    let fields = [
        ("name", name),
        ("retries", retries),
        ("inner", inner),
        ("inner_attempts", inner_attempts),
    ];
    Recorded {
        level,
        message: message.to_owned(),
        fields: fields.map(|(field, value)| (field, value.to_owned())).to_vec(),
    }
}

const MULTIPLY: &str = "retries inside retries: `nested = once` makes each inner call a single \
                        attempt";

#[tokio::test(start_paused = true)]
async fn three_levels_of_five_attempts_make_125() {
    #[retry(attempts = 5, name = "nested.a")]
    async fn a(calls: &Calls) -> Result<(), Failure> {
        b(calls).await
    }
    #[retry(attempts = 5, name = "nested.b")]
    async fn b(calls: &Calls) -> Result<(), Failure> {
        c(calls).await
    }
    #[retry(attempts = 5, name = "nested.c")]
    async fn c(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    listen();
    let calls = Calls::new();
    a(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 125);
    let told_of = nested(take_events());
    // `b` ends five times, and reports its four retries each time; `a` reports everything inside
    // its own retries.
    let of_b = told(Level::INFO, MULTIPLY, ["nested.b", "4", "nested.c", "20"]);
    let of_a = told(Level::INFO, MULTIPLY, ["nested.a", "4", "nested.b", "100"]);
    assert_eq!(told_of, [of_b.clone(), of_b.clone(), of_b.clone(), of_b.clone(), of_b, of_a]);
}

#[tokio::test(start_paused = true)]
async fn a_line_informs_listeners() {
    #[retry(attempts = 2, name = "nested.told.outer")]
    async fn outer() -> Result<(), Failure> {
        inner().await
    }
    #[retry(attempts = 3, name = "nested.told.inner")]
    async fn inner() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let listening = on_event(move |event| {
        if event.name() == "nested.told.outer" {
            log.lock().unwrap().push(event.to_string());
        }
    });
    outer().await.unwrap_err();
    listening.stop();
    assert_eq!(
        lines.lock().unwrap().last().unwrap(),
        "nested.told.outer: 1 retry made 3 attempts of `nested.told.inner`, which also retries"
    );
}

#[tokio::test(start_paused = true)]
async fn once_limits_inner_retries_to_one_attempt() {
    #[retry(attempts = 5, nested = once, name = "nested.once.outer")]
    async fn outer(calls: &Calls) -> Result<(), RetryError<Failure>> {
        inner(calls).await
    }
    #[retry(attempts = 5, name = "nested.once.inner")]
    async fn inner(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    listen();
    let calls = Calls::new();
    let error = outer(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 5 + 4, "all attempts inside the first one, then one each");
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 5));
    let heard = take_events();
    let given_up: Vec<_> = heard
        .iter()
        .filter(|event| event.message == "gave up")
        .map(|event| (event.level, event.field("name").unwrap(), event.field("reason").unwrap()))
        .collect();
    let inside = (Level::DEBUG, "nested.once.inner", "nested");
    assert_eq!(
        given_up,
        [
            (Level::WARN, "nested.once.inner", "attempts"),
            inside,
            inside,
            inside,
            inside,
            (Level::WARN, "nested.once.outer", "attempts"),
        ]
    );
    let fields = ["nested.once.outer", "4", "nested.once.inner", "4"];
    assert_eq!(nested(heard), [told(Level::DEBUG, "nested retries", fields)]);
}

#[tokio::test(start_paused = true)]
async fn once_applies_through_intermediate_calls() {
    #[retry(attempts = 5, nested = once)]
    async fn a(calls: &Calls) -> Result<(), Failure> {
        b(calls).await
    }
    #[retry(attempts = 5)]
    async fn b(calls: &Calls) -> Result<(), Failure> {
        c(calls).await
    }
    #[retry(attempts = 5, nested = once)]
    async fn c(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    a(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 25 + 4, "5 x 5 inside the first attempt, then one each");
}

#[tokio::test(start_paused = true)]
async fn the_reason_can_be_seen() {
    #[retry(attempts = 2, nested = once)]
    async fn outer(seen: &mut Vec<(Reason, u32, String)>) -> Result<(), Failure> {
        let error = inner().await.unwrap_err();
        seen.push((error.reason(), error.attempts(), format!("{error:#}")));
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, name = "nested.reason")]
    async fn inner() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    let mut seen = Vec::new();
    outer(&mut seen).await.unwrap_err();
    let [(first, 2, _), (second, 1, text)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((*first, *second), (Reason::Attempts, Reason::Nested));
    assert_eq!(text, "gave up after 1 attempt (the function around it is being retried): corrupt");
    assert_eq!(Reason::Nested.as_str(), "nested");
}

#[tokio::test(start_paused = true)]
async fn once_does_not_affect_an_inner_success() {
    #[retry(attempts = 3, nested = once)]
    async fn outer(calls: &Calls) -> Result<u32, Failure> {
        let made = inner(calls).await?;
        if made < 3 { Err(Failure::Busy(made)) } else { Ok(made) }
    }
    #[retry(attempts = 3)]
    async fn inner(calls: &Calls) -> Result<u32, Failure> {
        Ok(calls.make())
    }
    listen();
    assert_eq!(outer(&Calls::new()).await, Ok(3));
    assert_eq!(nested(take_events()), []);
}

#[tokio::test(start_paused = true)]
async fn an_inner_failure_that_is_swallowed_is_not_held_against_the_outer_call() {
    #[retry(attempts = 3, nested = once)]
    async fn outer(calls: &Calls) -> Result<(), Failure> {
        let _ = inner(calls).await;
        Ok(())
    }
    #[retry(attempts = 3)]
    async fn inner(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    listen();
    let calls = Calls::new();
    outer(&calls).await.unwrap();
    assert_eq!((calls.made(), nested(take_events())), (3, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn once_limits_no_sibling_in_the_same_task() {
    #[retry(attempts = 3, nested = once)]
    async fn outer(calls: &Calls) -> Result<(), Failure> {
        sleep(millis(300)).await;
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 40, backoff = fixed, initial_delay = "100ms")]
    async fn sibling(calls: &Calls) -> Result<(), RetryError<Failure>> {
        sleep(millis(50)).await;
        Err(Failure::Busy(calls.make()))
    }
    let (calls, others) = (Calls::new(), Calls::new());
    let (_, ended) = tokio::join!(outer(&calls), sibling(&others));
    assert_eq!((calls.made(), others.made()), (3, 40));
    assert_eq!(ended.unwrap_err().reason(), Reason::Attempts);
    // And the other way round, with the sibling polled first.
    let (calls, others) = (Calls::new(), Calls::new());
    let (ended, _) = tokio::join!(sibling(&others), outer(&calls));
    assert_eq!((calls.made(), others.made()), (3, 40));
    assert_eq!(ended.unwrap_err().reason(), Reason::Attempts);
}

#[tokio::test(start_paused = true)]
async fn a_sibling_failure_is_not_mistaken_for_a_nested_retry() {
    #[retry(attempts = 3, name = "nested.beside")]
    async fn fetch(how_long: u64) -> Result<(), Failure> {
        sleep(millis(how_long)).await;
        Err(Failure::Corrupt)
    }
    listen();
    let _ = tokio::join!(fetch(2_000), fetch(500), fetch(900));
    assert_eq!(nested(take_events()), []);
}

#[test]
fn once_holds_on_whichever_thread_the_task_goes_on() {
    #[retry(attempts = 4, initial_delay = "1ms", backoff = fixed, nested = once)]
    async fn outer(calls: &Calls) -> Result<(), Failure> {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        inner(calls).await
    }
    #[retry(attempts = 4, initial_delay = "1ms", backoff = fixed)]
    async fn inner(calls: &Calls) -> Result<(), Failure> {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        Err(Failure::Busy(calls.make()))
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                tokio::spawn(async {
                    let (calls, alone) = (Calls::new(), Calls::new());
                    let _ = outer(&calls).await;
                    let _ = inner(&alone).await;
                    (calls.made(), alone.made())
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), (4 + 3, 4));
        }
    });
}

#[test]
fn sync_in_sync() {
    #[retry(attempts = 3, initial_delay = "1ms", nested = once, name = "nested.sync.outer")]
    fn outer(calls: &Calls) -> Result<(), Failure> {
        inner(calls)
    }
    #[retry(attempts = 3, initial_delay = "1ms", name = "nested.sync.inner")]
    fn inner(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 3, initial_delay = "1ms", name = "nested.sync.plain")]
    fn plain(calls: &Calls) -> Result<(), Failure> {
        inner(calls)
    }
    listen();
    let calls = Calls::new();
    outer(&calls).unwrap_err();
    assert_eq!(calls.made(), 3 + 2);
    let calls = Calls::new();
    plain(&calls).unwrap_err();
    assert_eq!(calls.made(), 9);
    assert_eq!(
        nested(take_events()),
        [
            told(
                Level::DEBUG,
                "nested retries",
                ["nested.sync.outer", "2", "nested.sync.inner", "2"]
            ),
            told(Level::INFO, MULTIPLY, ["nested.sync.plain", "2", "nested.sync.inner", "6"]),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn sync_in_async_and_after_a_panic() {
    #[retry(attempts = 3, nested = once)]
    async fn outer(calls: &Calls) -> Result<(), Failure> {
        inner(calls)
    }
    #[retry(attempts = 3, initial_delay = "0s", backoff = fixed)]
    fn inner(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 3, nested = once)]
    async fn panics(calls: &Calls) -> Result<(), Failure> {
        assert_eq!(calls.make(), 1, "a bug in the body");
        Err(Failure::Corrupt)
    }
    let calls = Calls::new();
    outer(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 3 + 2);
    // A panic during a retry leaves no mark on the thread.
    let panicked = tokio::spawn(async { panics(&Calls::new()).await }).await;
    assert!(panicked.unwrap_err().is_panic());
    let calls = Calls::new();
    inner(&calls).unwrap_err();
    assert_eq!(calls.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn once_does_not_reach_a_task_of_its_own_or_the_fallback() {
    static INSIDE: Calls = Calls::new();
    #[retry(attempts = 2, nested = once, on_failure = fallback(|_| inner()))]
    async fn outer() -> Result<(), Failure> {
        let _ = tokio::spawn(inner()).await;
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 3)]
    async fn inner() -> Result<(), Failure> {
        Err(Failure::Busy(INSIDE.make()))
    }
    outer().await.unwrap_err();
    assert_eq!(INSIDE.made(), 3 * 3);
}

#[tokio::test(start_paused = true)]
async fn an_inner_call_that_is_rejected_made_no_attempts() {
    static DB: retry_runtime::CircuitBreaker =
        retry_runtime::CircuitBreaker::new("nested.db", retry_runtime::BreakerConfig::new());
    #[retry(attempts = 3)]
    async fn outer() -> Result<(), Failure> {
        inner().await
    }
    #[retry(attempts = 3, breaker = DB)]
    async fn inner() -> Result<(), Failure> {
        Ok(())
    }
    listen();
    DB.force_open();
    outer().await.unwrap_err();
    assert_eq!(nested(take_events()), []);
}

#[test]
fn a_task_that_the_attempt_itself_drives_is_another_matter() {
    static INSIDE: Calls = Calls::new();
    #[retry(attempts = 3, initial_delay = "1ms")]
    async fn unrelated() -> Result<(), Failure> {
        Err(Failure::Busy(INSIDE.make()))
    }
    #[retry(attempts = 2, initial_delay = "1ms", nested = once)]
    fn outer(runtime: &tokio::runtime::Runtime) -> Result<(), Failure> {
        runtime.block_on(async {
            let _ = tokio::spawn(unrelated()).await;
        });
        Err(Failure::Corrupt)
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    outer(&runtime).unwrap_err();
    assert_eq!(INSIDE.made(), 2 * 3);
}
