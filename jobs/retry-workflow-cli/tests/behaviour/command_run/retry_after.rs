//! Waits that a server asks for, as commands pass them on.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;

use super::support::{Place, until};

/// The wait after the first attempt of the only step, in seconds.
#[track_caller]
fn waits(place: &Place) -> f64 {
    let items = place.objects(&["items", "show", "step 1"]);
    items[0]["history"][0]["wait"].as_f64().unwrap_or_else(|| panic!("{items:?}"))
}

fn step(command: &str, more: &str) -> Place {
    Place::with(&format!(
        "commands:\n  - {command}\n    retry_config: {{ attempts: 2, initial_delay: 1ms, backoff: fixed }}\n{more}"
    ))
    .script("ask.sh", "[ -n \"$RETRY_WORKFLOW_RETRY_AFTER\" ] && echo \"$1\" > \"$RETRY_WORKFLOW_RETRY_AFTER\"; exit ${2-1}")
}

#[test]
fn a_program_requests_a_wait_with_any_exit_code() {
    let place = step("exec: ['./ask.sh', '0.3', '74']", "");
    place.ends(1, &["run", "job.yml"]);
    assert!((waits(&place) - 0.3).abs() < 1e-6);
    // It has succeeded, but its output cannot be used.
    let place =
        step("exec: ['./ask.sh', '0.2', '0']", "    capture: n\n    capture_format: number\n");
    place.ends(1, &["run", "job.yml"]);
    assert!((waits(&place) - 0.2).abs() < 1e-6);
}

/// The number of attempts that the only step has made.
#[track_caller]
fn attempts(place: &Place) -> usize {
    let items = place.objects(&["items", "show", "step 1"]);
    items[0]["history"].as_array().unwrap_or_else(|| panic!("{items:?}")).len()
}

#[test]
fn a_longer_wait_than_the_step_allows_ends_its_retries() {
    for (asked, allowed, made) in
        [("3601", "", 1), ("0.2", "100ms", 1), ("0.1", "100ms", 2), ("0.1", "unlimited", 2)]
    {
        let more = match allowed {
            "" => String::new(),
            allowed => format!("    max_retry_after: {allowed}\n"),
        };
        let place = step(&format!("exec: ['./ask.sh', '{asked}']"), &more);
        place.ends(1, &["run", "job.yml"]);
        assert_eq!(attempts(&place), made, "{asked} {allowed}");
        if made == 2 {
            assert!((waits(&place) - 0.1).abs() < 1e-6);
        }
    }
}

#[test]
fn a_requested_wait_of_zero_is_ignored() {
    for said in ["0", "0.0", "1735689600", "'Retry-After: 0'"] {
        let place = step(&format!("exec: ['./ask.sh', \"{said}\"]"), "");
        place.ends(1, &["run", "job.yml"]);
        // The wait is that of the policy.
        assert!((waits(&place) - 0.001).abs() < 1e-6, "{said}");
    }
}

#[test]
fn a_task_has_the_limit_too() {
    let file = "tasks:\n  only:\n    exec: ['./ask.sh', '0.2']\n    max_retry_after: 100ms\n";
    let place =
        Place::with(file).script("ask.sh", "echo $1 > \"$RETRY_WORKFLOW_RETRY_AFTER\"; exit 1");
    place.ends(3, &["run", "job.yml"]);
    let items = place.objects(&["items", "show", "only"]);
    assert_eq!(items[0]["history"].as_array().map(Vec::len), Some(1), "{items:?}");
}

#[test]
fn every_command_has_the_file_also_a_script_that_the_file_only_calls() {
    for command in [
        "shell: './ask.sh 0.3'",
        "shell: 'sh -c \"./ask.sh 0.3\"; exit 1'",
        "exec: ['./ask.sh', '0.3']",
        "claude: '0.3'",
    ] {
        let place = step(command, "");
        let file = format!("{}agent: {{ program: ./ask.sh }}\n", place.read("job.yml"));
        place.write("job.yml", &file.replace("commands:", "mode: standard\ncommands:"));
        place.ends(1, &["run", "job.yml"]);
        assert!((waits(&place) - 0.3).abs() < 1e-6, "{command}");
    }
    let place = step("shell: 'test -w \"$RETRY_WORKFLOW_RETRY_AFTER\" && exit 7'", "");
    place.ends(1, &["run", "job.yml"]).says("exit status 7");
    // Nothing was written: the wait is that of the policy.
    assert!((waits(&place) - 0.001).abs() < 1e-6);
}

/// A job of three items, of which the first is told to wait for so many seconds and then succeeds.
fn three_items(breaker: &str, seconds: &str) -> Place {
    let file = format!(
        "mode: mapreduce\nerror_policy: {{ circuit_breaker: {{ {breaker} }} }}\nmap:\n  input: items.json\n  \
         max_parallel: 1\n  agent_template:\n    - exec: ['./ask.sh', '${{item.id}}']\n      \
         retry_config: {{ attempts: 2 }}\n"
    );
    Place::with(&file).items(&["a", "b", "c"]).script(
        "ask.sh",
        &format!(
            "date +%s%3N >> times\necho $1 >> log\n[ $(wc -l < log) -gt 1 ] && exit 0\n\
             echo {seconds} > \"$RETRY_WORKFLOW_RETRY_AFTER\"; echo '429 Too Many Requests' >&2; exit 1"
        ),
    )
}

#[test]
fn the_wait_of_one_item_holds_the_others_if_the_breaker_of_the_job_holds() {
    // One failure opens it for a minute: a rate limit is neither a failure nor a success.
    let place = three_items("failure_threshold: 1, timeout: 1m, hold: 5m", "1.5");
    place.ends(0, &["run", "job.yml"]).says("3 succeeded");
    let times: Vec<u64> = place.read("times").lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 4, "{times:?}");
    assert!(times[1] - times[0] >= 1_400, "{times:?}");
    // A shorter `hold` caps it.
    for breaker in ["failure_threshold: 1, timeout: 1m, hold: 100ms", "failure_threshold: 2"] {
        let place = three_items(breaker, "3000");
        let _running = place.spawn(&["run", "job.yml"]);
        until("the others do not wait", || place.read("log") == "a\nb\nc\n");
    }
}

#[test]
fn curl_writes_the_headers_of_a_real_answer() {
    if Command::new("curl").arg("--version").output().is_err() {
        let required = std::env::var_os("RETRY_TEST_REQUIRE_CURL");
        assert!(required.is_none(), "there is no curl: install it (Debian: curl)");
        let _ = writeln!(std::io::stderr(), "skipped: there is no curl");
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (number, caller) in server.incoming().flatten().enumerate() {
            let mut reader = BufReader::new(caller);
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                line.clear();
            }
            let answer = match number {
                0 => {
                    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
                }
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            };
            let _ = reader.into_inner().write_all(answer.as_bytes());
        }
    });
    let place = step(
        &format!(
            "shell: 'curl -sS --fail -D \"$RETRY_WORKFLOW_RETRY_AFTER\" http://127.0.0.1:{port}/'"
        ),
        "",
    );
    place.ends(0, &["run", "job.yml"]);
    assert!((waits(&place) - 1.0).abs() < 1e-6);
}

#[test]
fn a_replaced_retry_after_file_is_ignored() {
    for replaced in ["mkfifo $F", "mkdir $F", "ln -s /dev/zero $F", "true"] {
        let script = format!("F=\"$RETRY_WORKFLOW_RETRY_AFTER\"; rm \"$F\"; {replaced}; exit 1");
        let place = step("exec: ['./replace.sh']", "").script("replace.sh", &script);
        let mut command = Command::new("timeout");
        let program = env!("CARGO_BIN_EXE_retry-workflow");
        command.args(["--signal=KILL", "20", program, "run", "job.yml"]);
        command.current_dir(place.path(".")).env("TMPDIR", place.path("."));
        let output = command.env_remove("RETRY_WORKFLOW_STORE").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{replaced}: {output:?}");
        assert!((waits(&place) - 0.001).abs() < 1e-6, "{replaced}");
    }
}

#[test]
fn the_end_of_stderr_states_a_wait_for_limits_and_server_errors() {
    for (said, code, wait) in [
        ("429 Too Many Requests: try again in 300ms", 1, 0.3),
        ("HTTP/1.1 503 Service Unavailable\nPlease wait 300 ms\nbye\nbye\nbye\nbye", 1, 0.3),
        // Shorter than the first wait of the policy.
        ("HTTP 429, retry in 10 us", 1, 0.001),
        ("no such table, try again in 300ms", 1, 0.001),
        ("deadlock detected, wait 300ms", 1, 0.001),
        // Only the file counts.
        ("429 Too Many Requests: try again in 300ms", 75, 0.001),
    ] {
        let place = step("exec: ['./say.sh']", "")
            .script("say.sh", &format!("cat >&2 <<END\n{said}\nEND\nexit {code}"));
        place.ends(1, &["run", "job.yml"]);
        assert!((waits(&place) - wait).abs() < 1e-6, "{said}: {}", waits(&place));
    }
    // The file comes first.
    let place = step("exec: ['./say.sh']", "").script(
        "say.sh",
        "echo 0.2 > $RETRY_WORKFLOW_RETRY_AFTER; echo 'HTTP 429: retry in 300ms' >&2; exit 1",
    );
    place.ends(1, &["run", "job.yml"]);
    assert!((waits(&place) - 0.2).abs() < 1e-6);
}

#[test]
fn an_unreadable_wait_is_reported_in_the_history_and_once_on_stderr() {
    for (written, reported) in [
        ("soon", "the value in $RETRY_WORKFLOW_RETRY_AFTER is not a wait, \"soon\""),
        (
            "Retry-After: later",
            "`Retry-After` in $RETRY_WORKFLOW_RETRY_AFTER is not a wait, \"later\"",
        ),
    ] {
        let place = step(&format!("exec: ['./ask.sh', '{written}']"), "");
        let ran = place.ends(1, &["run", "job.yml"]);
        let warnings = ran.err.matches(&format!("warning: step 1: {reported}")).count();
        assert_eq!(warnings, 1, "{}", ran.err);
        place.ends(0, &["items", "show", "step 1"]).says(reported);
    }
}
