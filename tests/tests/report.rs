//! `report()`, as a person reads it. A program of its own, because every annotated
//! function of a program is listed in the table.

use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker, RetryError, report, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(3));

static HOSTS: Breakers<String> =
    Breakers::new("hosts", BreakerConfig::new().failure_threshold(1), 100);

#[retry(attempts = 5, jitter, budget = "5m")]
async fn untouched() -> Result<(), String> {
    Ok(())
}

#[retry(breaker = DB, name = "billing.fetch")]
async fn fetch(calls: &mut u32, works_at: u32) -> Result<(), RetryError<String>> {
    *calls += 1;
    if *calls == works_at { Ok(()) } else { Err("down".to_owned()) }
}

#[retry(attempts = unlimited, deadline = "1m", backoff = fixed, name = "poll")]
async fn poll(calls: &mut u32) -> Option<()> {
    *calls += 1;
    (*calls == 12).then_some(())
}

#[retry(attempts = N, initial_delay = "1ms", backoff = fixed)]
fn by_parameter<const N: u32>() -> Result<(), String> {
    Err("no".to_owned())
}

#[tokio::test(start_paused = true)]
async fn it_is_a_table_for_people() {
    let before = report();
    fetch(&mut 0, 2).await.unwrap();
    fetch(&mut 0, 0).await.unwrap_err();
    fetch(&mut 0, 0).await.unwrap_err();
    poll(&mut 0).await.unwrap();
    by_parameter::<2>().unwrap_err();
    untouched().await.unwrap();
    HOSTS.of("a.example").try_acquire().unwrap().success();
    HOSTS.of("b.example").try_acquire().unwrap().failure_with(&"connection refused");
    assert!(HOSTS.of("b.example").try_acquire().is_err());

    let expected = "\
function              attempts  retries  recovered  gave up  waited  longest waits  policy                                                                    at
billing.fetch                5        3          1        2      4s             3s  3 attempts, exponential (base 2) from 1s to 30s                           tests/tests/report.rs:16
poll                        12       11          1        0     11s            60s  unlimited attempts, fixed 1s, deadline 1m                                 tests/tests/report.rs:22
report::by_parameter         2        1          0        1     1ms            1ms  2 attempts, fixed 1ms                                                     tests/tests/report.rs:28
report::untouched            0        0          0        0      0s          19.5s  5 attempts, exponential (base 2) from 1s to 30s, jitter ±30 %, budget 5m  tests/tests/report.rs:11

billing.fetch gave up:
       1 x all attempts were used
       1 x the circuit breaker is open

report::by_parameter gave up:
       1 x all attempts were used
";
    let text = report().to_string();
    assert_eq!(text, expected, "\n{text}");
    assert_eq!(before.to_string(), text, "it reads the counters when it is shown");
}
