//! Runs quickstart in real time, and checks its output for the lines that matter.

use std::process::Command;

#[path = "../../tests/in_order.rs"]
mod in_order;
use in_order::assert_in_order;

#[test]
fn quickstart() {
    let output = Command::new(env!("CARGO_BIN_EXE_quickstart")).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_in_order(
        &String::from_utf8(output.stdout).expect("it prints text"),
        &[
            "attempt 1 of 5: ",
            "next in 200ms",
            "ok: answer to request 1 for /greeting",
            "attempt 1 of 4: 503 Service Unavailable; next in 200ms",
            "attempt 2 of 4: 429 Too Many Requests, asks for 1s; next in 1s",
            "ok: answer to request 3 for /busy",
            "gave up after 1 attempt (the failure is not retryable): 404 Not Found",
            "attempt 1 of 3: the attempt timed out after 500ms; next in 100ms",
            "ok: answer to request 2 for /forecast",
            "circuit breaker `shop`: closed -> open (failures)",
            "gave up after 3 attempts and 300ms of waiting (the circuit breaker is open)",
            "gave up before the first attempt (the circuit breaker is open): \
             circuit breaker `shop` is open for another",
            "circuit breaker `shop`: open -> half_open (time_up)",
            "ok: answer to request 4 for /order",
            "circuit breaker `shop`: half_open -> closed (recovered)",
            "ok: answer to request 5 for /order",
            "12 tokens in the bucket",
            "gave up after 3 attempts and 300ms of waiting (all attempts were used)",
            "2 tokens in the bucket",
            "gave up after 1 attempt (the retry quota is used up): 503",
            "ok: yesterday's price of tea",
            "the end",
        ],
    );
}
