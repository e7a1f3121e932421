//! Runs every example, and checks its output for the lines that matter.
//!
//! Cargo builds the examples of a package before it runs its tests, so they exist; only `--test
//! run` alone would not build them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The output of the example, which must succeed.
fn output_of(example: &str) -> String {
    let output = Command::new(path_of(example)).output().unwrap_or_else(|error| {
        panic!("`{example}` does not run ({error}): build it by `cargo build --examples`")
    });
    let text = String::from_utf8(output.stdout).expect("the examples print text");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    text
}

/// `target/<profile>/examples/<example>`, relative to `target/<profile>/deps/<this test>`.
fn path_of(example: &str) -> PathBuf {
    let mut path = std::env::current_exe().expect("a test knows where it is");
    path.pop();
    path.pop();
    path.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}

/// Asserts that these texts occur in the output, in this order.
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

/// No server listens on port 1, so each attempt is refused.
#[test]
fn first() {
    let output = Command::new(path_of("first")).output().expect("the example runs");
    assert!(!output.status.success(), "{output:?}");
    assert_in_order(
        &String::from_utf8_lossy(&output.stderr),
        &[
            "first::connect: attempt 1 of 4 failed, next in ",
            "first::connect: attempt 2 of 4 failed, next in ",
            "first::connect: attempt 3 of 4 failed, next in ",
            "Error: Os {",
        ],
    );
}

/// In real time, as a reader sees it.
#[test]
fn quickstart() {
    assert_in_order(
        &output_of("quickstart"),
        &[
            "attempt 1 of 5: ",
            "next in 100ms",
            "ok: answer to request 1 for /greeting",
            "attempt 1 of 4: 503 Service Unavailable; next in 100ms",
            "attempt 2 of 4: 429 Too Many Requests, asks for 1s; next in 1s",
            "ok: answer to request 3 for /busy",
            "gave up after 1 attempt (the failure is not retryable): 404 Not Found",
            "attempt 1 of 3: the attempt timed out after 500ms; next in 50ms",
            "ok: answer to request 2 for /forecast",
            "circuit breaker `shop`: closed -> open (failures)",
            "gave up after 3 attempts and 150ms of waiting (the circuit breaker is open)",
            "gave up before the first attempt (the circuit breaker is open): \
             circuit breaker `shop` is open for another",
            "circuit breaker `shop`: open -> half_open (time_up)",
            "ok: answer to request 4 for /order",
            "circuit breaker `shop`: half_open -> closed (recovered)",
            "ok: answer to request 5 for /order",
            "12 tokens in the bucket",
            "gave up after 3 attempts and 150ms of waiting (all attempts were used)",
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
        &[
            "queue is full (try 2)",
            "position 1 after 3 tries",
            "arrived whole: it works",
            "2 messages, none of them twice",
        ],
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
            "is longer than `max_delay`",
            "unknown key `backof`: did you mean `backoff`?",
        ],
    );
}

#[test]
fn live_overrides() {
    assert_in_order(
        &output_of("live_overrides"),
        &[
            "gave up after 4 attempts and 140ms of waiting",
            "* stock.count: the policy is now 2 attempts, exponential (base 2) from 5ms to 30s, timeout 1s",
            "gave up after 2 attempts and 5ms of waiting",
            "* refused: error: line 2 column 3: unknown key `atempts`: did you mean `attempts`?",
            "gave up after 2 attempts and 5ms of waiting",
            "* stock.count: the policy is now 1 attempt",
            "gave up after 1 attempt (all attempts were used)",
            "(overridden)",
        ],
    );
}

#[test]
fn board() {
    let mut board = Command::new(path_of("board"))
        .args(["--for", "2s"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is built with this test");
    let mut output = BufReader::new(board.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it prints its address");
    let url = line.trim().strip_prefix("look at http://").expect("an address");
    let (address, _) = url.split_once('/').expect("a path");
    let ask = |path: &str| {
        let mut connection = TcpStream::connect(address).expect("it serves there");
        write!(connection, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .expect("it reads");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers");
        answer
    };
    // The jobs start in parallel with the server.
    while !ask("/retry/api/jobs").contains("import-orders-1") {
        std::thread::yield_now();
    }
    assert_in_order(&ask("/retry/policies"), &["shop.charge", "shop.mail", "bank", "outbound"]);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("it ends");
    assert!(rest.contains("that was 2s"), "{rest}");
    assert!(board.wait().expect("it has ended").success());
}

#[test]
fn cost() {
    assert_in_order(&output_of("cost"), &["bare", "by-hand", "retry", "breaker", "timeout"]);
}

#[test]
fn metrics() {
    assert_in_order(
        &output_of("metrics"),
        &[
            "stock: gave up after 3 attempts and 30ms of waiting (the circuit breaker is open)",
            "price: gave up after 3 attempts and 30ms of waiting (the retry quota is used up)",
            "price: gave up after 1 attempt (the retry quota is used up)",
            "# HELP retry_",
            "# TYPE retry_",
        ],
    );
}

/// The scraped metrics are exactly what has happened.
#[test]
fn metrics_are_scraped_over_http() {
    let mut example = Command::new(path_of("metrics"))
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`metrics` runs");
    let mut lines = BufReader::new(example.stdout.take().expect("it is piped")).lines();
    let address = lines
        .find_map(|line| {
            Some(line.ok()?.strip_prefix("http://")?.trim_end_matches("/metrics").to_owned())
        })
        .expect("it says where it serves");

    let mut connection = TcpStream::connect(&address).expect("it serves there");
    write!(connection, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut scraped = String::new();
    connection.read_to_string(&mut scraped).unwrap();
    // Closing its standard input ends the example.
    drop(example.stdin.take());
    assert!(example.wait().unwrap().success());

    assert!(scraped.starts_with("HTTP/1.1 200 OK"), "{scraped}");
    let mut measured: Vec<&str> = scraped
        .lines()
        .filter(|line| line.starts_with("retry_") && !line.contains("_bucket"))
        .filter(|line| !line.ends_with(" 0"))
        .collect();
    measured.sort_unstable();
    assert_eq!(
        measured,
        [
            "retry_attempts_total{name=\"shop.order\"} 3",
            "retry_attempts_total{name=\"shop.price\"} 4",
            "retry_attempts_total{name=\"shop.stock\"} 3",
            "retry_breaker_calls_total{breaker=\"stock\",kind=\"failure\"} 3",
            "retry_breaker_calls_total{breaker=\"stock\",kind=\"rejected\"} 1",
            "retry_breaker_state{breaker=\"stock\"} 2",
            "retry_breaker_transitions_total{breaker=\"stock\",to=\"open\"} 1",
            "retry_give_ups_total{name=\"shop.price\",reason=\"quota\"} 2",
            "retry_give_ups_total{name=\"shop.stock\",reason=\"circuit_open\"} 2",
            "retry_quota_tokens{quota=\"outbound\"} 2",
            "retry_recoveries_total{name=\"shop.order\"} 1",
            "retry_retries_total{name=\"shop.order\"} 2",
            "retry_retries_total{name=\"shop.price\"} 2",
            "retry_retries_total{name=\"shop.stock\"} 2",
            "retry_wait_seconds_count{name=\"shop.order\"} 2",
            "retry_wait_seconds_count{name=\"shop.price\"} 2",
            "retry_wait_seconds_count{name=\"shop.stock\"} 2",
            "retry_wait_seconds_sum{name=\"shop.order\"} 0.03",
            "retry_wait_seconds_sum{name=\"shop.price\"} 0.03",
            "retry_wait_seconds_sum{name=\"shop.stock\"} 0.03",
        ]
    );
    // Metrics for what has not happened yet are visible too.
    let none = "retry_give_ups_total{name=\"shop.order\",reason=\"attempts\"} 0\n";
    assert!(scraped.contains(none), "{scraped}");
    assert!(scraped.contains("# TYPE retry_wait_seconds histogram"), "{scraped}");
    assert!(
        scraped.contains("retry_wait_seconds_bucket{name=\"shop.order\",le=\"0.01\"} 1\n"),
        "{scraped}"
    );
}

#[test]
fn job() {
    assert_in_order(
        &output_of("job"),
        &[
            "dropped in the middle: true",
            "job import-customers-1: finished",
            "150 succeeded, 50 dead letters, of 200",
            "failures  other 50",
            "50 × customer <n>: no tax rate",
            "these most likely share one cause",
            "50 × customer <n>: no tax rate, such as item ",
            "50 dead letters are re-driven",
            "job import-customers-1: finished",
            "200 succeeded, of 200",
        ],
    );
}

/// The contrast of two colours such as `#1f2328`, as WCAG 2 defines it.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

#[test]
fn texts_of_the_pictures_are_readable_on_light_and_dark_pages() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let svg = root.join("retry-runtime/src/guide/pictures/decisions.svg");
    let svg = std::fs::read_to_string(svg).unwrap();
    let (_, style) = svg.split_once("<style>").unwrap();
    let (style, _) = style.split_once("</style>").unwrap();
    let (light, dark) = style.split_once("@media").unwrap();
    for scheme in [light, dark] {
        // The selector before the last brace, and the colour after it.
        let fills: BTreeMap<_, _> = scheme
            .split('}')
            .filter_map(|rule| {
                let (selector, rule) = rule.rsplit_once('{')?;
                let colour = rule.split_once("fill: #")?.1;
                Some((
                    selector.split(['{', '\n']).next_back()?.trim(),
                    format!("#{}", &colour[..6]),
                ))
            })
            .collect();
        for text in ["text", ".word"] {
            for ground in [".paper", "rect", ".good", ".bad", ".wait"] {
                let contrast = contrast(&fills[text], &fills[ground]);
                assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2} in {scheme}");
            }
        }
    }
}

#[test]
fn the_pictures_of_the_guide_match_their_program() {
    let drawn = tempfile::tempdir().expect("a folder");
    let status = Command::new(path_of("pictures")).arg(drawn.path()).status();
    assert!(status.expect("it runs").success());
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for file in [
        "retry-runtime/src/guide/pictures/breaker",
        "retry-runtime/src/guide/pictures/decisions",
        "jobs/retry-workflow/src/guide/pictures/item",
    ] {
        for file in ["svg", "uri"].map(|extension| format!("{file}.{extension}")) {
            let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join(&file)).ok();
            assert!(
                read(drawn.path()) == read(&root),
                "{file} is another one: `cargo run -p retry-examples --example pictures`"
            );
        }
    }
}
