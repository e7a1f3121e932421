//! `on_event`: a listener receives every event of the program, and disturbs nothing.

use std::sync::{Arc, Mutex};

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Listening, QuotaConfig, RetryQuota, on_event, retry,
};

use crate::support::{Calls, Failure};

/// The events that one listener received about some names, because other tests run in parallel.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Starts to listen.
    fn of(names: &'static [&'static str]) -> (Self, Listening) {
        let log = Self::default();
        let lines = log.clone();
        let listening = on_event(move |event| {
            if names.contains(&event.name()) {
                lines.0.lock().unwrap().push(event.to_string());
            }
        });
        (log, listening)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn every_event_is_a_line_that_can_be_read() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("listeners.db", BreakerConfig::new().failure_threshold(4));
    static OUT: RetryQuota = RetryQuota::new("listeners.out", QuotaConfig::new().capacity(12));
    #[retry(quota = OUT, breaker = DB, name = "listeners.fetch")]
    async fn fetch(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    #[retry(attempts = unlimited, deadline = "1m", backoff = fixed, initial_delay = "0s", name = "listeners.poll")]
    async fn poll(calls: &Calls) -> Result<(), Failure> {
        let call = calls.make();
        if call == 2 { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    let (log, listening) =
        Log::of(&["listeners.fetch", "listeners.db", "listeners.out", "listeners.poll"]);
    fetch(&Calls::new(), 2).await.unwrap();
    assert_eq!(
        log.take(),
        [
            "listeners.fetch: attempt 1 of 3 failed, next in 1s: busy at call 1",
            "listeners.fetch: attempt 2 succeeded after 1s of waiting",
        ]
    );
    fetch(&Calls::new(), 0).await.unwrap_err();
    assert_eq!(
        log.take(),
        [
            "listeners.fetch: attempt 1 of 3 failed, next in 1s: busy at call 1",
            "listeners.fetch: attempt 2 of 3 failed, next in 2s: busy at call 2",
            "listeners.fetch: gave up after 3 attempts and 3s of waiting (all attempts were used): busy at call 3",
        ]
    );
    fetch(&Calls::new(), 0).await.unwrap_err();
    assert_eq!(
        log.take(),
        [
            "circuit breaker `listeners.db`: closed -> open (failures): busy at call 1",
            "retry quota `listeners.out`: empty, failed calls are not retried",
            "listeners.fetch: gave up after 1 attempt (the retry quota is used up): busy at call 1",
        ]
    );
    fetch(&Calls::new(), 0).await.unwrap_err();
    assert_eq!(
        log.take(),
        ["listeners.fetch: gave up before the first attempt (the circuit breaker is open): \
          circuit breaker `listeners.db` is open for another 30s"]
    );
    poll(&Calls::new()).await.unwrap();
    assert_eq!(
        log.take(),
        [
            "listeners.poll: attempt 1 failed, next at once: busy at call 1",
            "listeners.poll: attempt 2 succeeded",
        ]
    );
    listening.stop();
}

#[test]
fn a_function_that_stalls_tasks_is_reported_once() {
    #[retry(attempts = 3, initial_delay = "1ms", backoff = fixed, name = "listeners.stalls")]
    fn stalls() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let (log, listening) = Log::of(&["listeners.stalls"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { (stalls().unwrap_err(), stalls().unwrap_err()) });
    listening.stop();
    let stalls: Vec<_> = log.take().into_iter().filter(|line| line.contains("async")).collect();
    assert_eq!(
        stalls,
        ["listeners.stalls: sleeps on a thread that drives async tasks, which stalls them: \
          make the function async, or call it through `spawn_blocking` (for 1ms)"]
    );
}

#[test]
fn an_event_is_written_in_debug_output_as_its_line() {
    #[retry(attempts = 1, name = "listeners.debug")]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let seen = Arc::new(Mutex::new(String::new()));
    let line = Arc::clone(&seen);
    let listening = on_event(move |event| {
        if event.name() == "listeners.debug" {
            *line.lock().unwrap() = format!("{event:?}");
        }
    });
    fetch().unwrap_err();
    listening.stop();
    assert_eq!(
        *seen.lock().unwrap(),
        "Event(listeners.debug: gave up after 1 attempt (all attempts were used): corrupt)"
    );
}

#[test]
fn a_stopped_listener_gets_no_events_and_a_dropped_handle_keeps_it() {
    #[retry(attempts = 1, name = "listeners.stop")]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let (stopped, listening) = Log::of(&["listeners.stop"]);
    let (dropped, other) = Log::of(&["listeners.stop"]);
    drop(other);
    fetch().unwrap_err();
    assert_eq!((stopped.take().len(), dropped.take().len()), (1, 1));
    listening.stop();
    fetch().unwrap_err();
    assert_eq!((stopped.take().len(), dropped.take().len()), (0, 1));
}

#[test]
fn one_that_panics_disturbs_neither_the_call_nor_the_others() {
    #[retry(attempts = 2, backoff = fixed, initial_delay = "0s", name = "listeners.panic")]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let before = Log::of(&["listeners.panic"]);
    let panicking = on_event(|event| {
        assert_ne!(event.name(), "listeners.panic", "a bug in the listener");
    });
    let behind = Log::of(&["listeners.panic"]);
    assert_eq!(fetch(), Err(Failure::Corrupt));
    // It stays registered, and so do the others.
    assert_eq!(fetch(), Err(Failure::Corrupt));
    panicking.stop();
    for (log, listening) in [before, behind] {
        assert_eq!(log.take().len(), 4);
        listening.stop();
    }
}

#[test]
fn one_that_adds_another_makes_it_hear_the_next_event() {
    #[retry(attempts = 1, name = "listeners.add")]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let late = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&late);
    let adding = on_event(move |event| {
        if event.name() == "listeners.add" {
            slot.lock().unwrap().get_or_insert_with(|| Log::of(&["listeners.add"]));
        }
    });
    fetch().unwrap_err();
    let (log, listening) = late.lock().unwrap().take().unwrap();
    assert_eq!(log.take(), [""; 0], "the event that it was added at is told already");
    adding.stop();
    fetch().unwrap_err();
    assert_eq!(log.take().len(), 1);
    listening.stop();
}

#[test]
fn one_that_calls_a_function_that_is_retried_does_not_hear_of_itself() {
    static HEARD: Calls = Calls::new();
    #[retry(attempts = 2, backoff = fixed, initial_delay = "0s", name = "listeners.outer")]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 3, backoff = fixed, initial_delay = "0s", name = "listeners.report")]
    fn report() -> Result<(), Failure> {
        HEARD.make();
        Err(Failure::Corrupt)
    }
    let (log, other) = Log::of(&["listeners.outer", "listeners.report"]);
    let calling = on_event(|event| {
        if matches!(event.name(), "listeners.outer" | "listeners.report") {
            let _ = report();
        }
    });
    fetch().unwrap_err();
    calling.stop();
    other.stop();
    assert_eq!(log.take().len(), 2, "of the outer one only");
    assert_eq!(HEARD.made(), 6, "3 attempts at each of them");
}

#[test]
fn a_listener_that_panics_gets_the_next_event() {
    #[retry(attempts = 1, name = "listeners.again")]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    static HEARD: Calls = Calls::new();
    let panicking = on_event(|event| {
        if event.name() == "listeners.again" {
            HEARD.make();
            panic!("a bug in the listener");
        }
    });
    let _ = (fetch(), fetch());
    panicking.stop();
    assert_eq!(HEARD.made(), 2);
}
