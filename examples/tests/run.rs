//! Every example is run, and what it prints is checked for the lines that matter.
//!
//! Cargo builds the examples of a package before it runs its tests, so they are
//! there; only `--test run` alone would not build them.

use std::path::PathBuf;
use std::process::Command;

/// What the example prints. It must end well.
fn output_of(example: &str) -> String {
    let output = Command::new(path_of(example))
        // Nobody listens there: an example that asked a proxy would fail.
        .envs(["http_proxy", "HTTP_PROXY", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:9")))
        .output()
        .unwrap_or_else(|error| {
            panic!("`{example}` does not run ({error}): build it by `cargo build --examples`")
        });
    let text = String::from_utf8(output.stdout).expect("the examples print text");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    text
}

/// `target/<profile>/examples/<example>`, seen from `target/<profile>/deps/<this test>`.
fn path_of(example: &str) -> PathBuf {
    let mut path = std::env::current_exe().expect("a test knows where it is");
    path.pop();
    path.pop();
    path.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}

/// Whether these texts stand in the output, one after another.
#[track_caller]
fn assert_in_order(output: &str, texts: &[&str]) {
    let mut rest = output;
    for text in texts {
        let Some(at) = rest.find(text) else {
            panic!("no `{text}` in, or not in its place:\n{output}")
        };
        rest = &rest[at + text.len()..];
    }
}

#[test]
fn quickstart() {
    assert_in_order(
        &output_of("quickstart"),
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

#[test]
fn shared_policy() {
    assert_in_order(
        &output_of("shared_policy"),
        &[
            "[10ms, 30ms, 50ms]",
            "fetch:            gave up after 4 attempts and 90ms of waiting",
            "fetch_for_a_user: gave up after 2 attempts and 10ms of waiting",
        ],
    );
}

#[test]
fn by_value() {
    assert_in_order(
        &output_of("by_value"),
        &["queue is full (try 2)", "position 1 after 3 tries", "arrived whole: it works"],
    );
}

#[test]
fn own_error() {
    assert_in_order(
        &output_of("own_error"),
        &[
            "the attempt timed out after 50ms; next in 10ms",
            "HTTP 429; next in 80ms",
            "ends with Ok(3)",
            "ends with Err(Malformed)",
        ],
    );
}

#[test]
fn async_trait() {
    assert_in_order(
        &output_of("async_trait"),
        &["attempt 1 of 2 failed, next in 10ms", "a (call 2)", "b (call 4) and b (call 6)"],
    );
}

#[test]
fn sync() {
    assert_in_order(
        &output_of("sync"),
        &["attempt 2: broken pipe", "sent as part 3", "gave up after 2 attempts"],
    );
}

#[test]
fn config_file() {
    assert_in_order(
        &output_of("config_file"),
        &[
            "5 attempts, linear from 10ms by 20ms",
            "succeeded at call 3",
            "gave up after 1 attempt (the failure is not retryable): no storage space",
            "it would run ./save-locally.sh",
            "is longer than `max_delay`",
            "unknown field `backof`",
        ],
    );
}

#[test]
fn cost() {
    assert_in_order(&output_of("cost"), &["bare", "by-hand", "retry", "breaker", "timeout"]);
}
