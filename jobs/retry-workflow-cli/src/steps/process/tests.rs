//! Tests with real commands, from well-behaved to stubborn.

use super::*;
use crate::steps::process_tree::GRACE;

fn sh(script: &str) -> Invocation {
    Invocation {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        variables: Vec::new(),
        folder: std::env::temp_dir(),
        timeout: None,
        missing: "",
        masks: Arc::default(),
        sinks: <[_; 2]>::default(),
        excerpt: Excerpt::default(),
    }
}

fn is_alive(pid: &str) -> bool {
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // A zombie without a waiting parent (in a container without an init) counts as dead.
    rustix::process::test_kill_process(pid).is_ok()
        && !std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
            .is_ok_and(|stat| stat.contains(") Z "))
}

async fn gone(pid: &str) -> bool {
    for _ in 0..200 {
        if !is_alive(pid) {
            return true;
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

async fn written(path: &std::path::Path) -> String {
    for _ in 0..2_000 {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => sleep(Duration::from_millis(5)).await,
        }
    }
    panic!("nothing was written to {}", path.display());
}

#[tokio::test]
async fn the_output_ends_without_its_newline() {
    assert_eq!(sh("printf ' a\\nb \\n'").run().await.unwrap().output, " a\nb ");
}

#[tokio::test]
async fn a_failure_has_its_status_and_the_last_lines() {
    let error = sh("seq 1 9 >&2; exit 3").run().await.unwrap_err();
    assert_eq!(error.to_string(), "exit status 3: 7\n8\n9");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string().lines().count(), 9);
    let silent = sh("exit 4").run().await.unwrap_err();
    assert_eq!(silent.to_string(), "exit status 4");
    let killed = sh("kill -9 $$").run().await.unwrap_err();
    assert_eq!(killed.to_string(), "terminated by signal 9");
}

#[tokio::test]
async fn a_command_that_writes_much_is_neither_blocked_nor_kept_whole() {
    let script = "head -c 30000000 /dev/zero | tr '\\0' x; head -c 9000000 /dev/zero | tr '\\0' 'é' >&2; exit 1";
    let error = sh(script).run().await.unwrap_err();
    assert!(error.stderr().len() <= 3 * LONGEST_TAIL);
    let output = sh("head -c 30000000 /dev/zero | tr '\\0' x").run().await.unwrap();
    assert_eq!(output.output.len(), LONGEST_OUTPUT);
}

#[tokio::test]
async fn invalid_utf8_is_displayed_with_replacement_characters() {
    let error = sh("printf 'a\\377b' >&2; exit 1").run().await.unwrap_err();
    assert_eq!(error.to_string(), "exit status 1: a\u{fffd}b");
    assert_eq!(sh("printf 'a\\377b'").run().await.unwrap().output, "a\u{fffd}b");
}

#[tokio::test]
async fn a_timeout_ends_the_grandchildren_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sh -c 'echo $$ > {}; exec sleep 60' & sleep 60", file.display());
    let mut command = sh(&script);
    command.timeout = Some(Duration::from_secs(1));
    let error = command.run().await.unwrap_err();
    assert_eq!(error.to_string(), "timed out after 1s");
    assert!(gone(&written(&file).await).await);
}

#[tokio::test]
async fn a_timeout_does_not_wait_for_ended_processes() {
    // The grandchild may remain a zombie in the group. Code that waited for it would be slow every
    // time, while a busy machine makes only some runs slow.
    let mut took = Vec::new();
    for _ in 0..10 {
        let mut command = sh("sh -c 'sleep 60; :' & sleep 60; :");
        command.timeout = Some(Duration::from_millis(100));
        let began = std::time::Instant::now();
        command.run().await.unwrap_err();
        took.push(began.elapsed());
        if began.elapsed() < GRACE {
            return;
        }
    }
    panic!("each took as long as one that does not end: {took:?}");
}

#[tokio::test]
async fn a_grandchild_gets_the_grace_period_after_a_timeout() {
    let mut command = sh("sh -c 'trap \"sleep 0.3; echo tidied >&2; exit\" TERM; \
                          while :; do sleep 0.05; done' & wait");
    command.timeout = Some(Duration::from_millis(300));
    let error = command.run().await.unwrap_err();
    assert!(error.to_string().ends_with("tidied"), "{error}");
}

#[tokio::test]
async fn a_process_that_ignores_the_termination_signal_is_killed() {
    let mut command = sh("trap '' TERM; while :; do sleep 0.05; done");
    command.timeout = Some(Duration::from_millis(100));
    let began = std::time::Instant::now();
    let error = command.run().await.unwrap_err();
    assert_eq!(error.status(), &Status::Timeout(Duration::from_millis(100)));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn dropping_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sh -c 'echo $$ > {}; exec sleep 60' & sleep 60", file.display());
    let running = tokio::spawn(sh(&script).run());
    let pid = written(&file).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert!(gone(&pid).await);
}

#[tokio::test]
async fn a_background_process_does_not_delay_the_step() {
    let began = std::time::Instant::now();
    assert_eq!(sh("echo done; sleep 20 &").run().await.unwrap().output, "done");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut command = sh("");
    command.program = "no-such-agent".into();
    command.missing = ": install it";
    assert_eq!(
        command.run().await.unwrap_err().to_string(),
        "cannot start `no-such-agent`: there is no such program on the PATH: install it"
    );
    let mut command = sh("");
    command.folder = "/no/such/folder".into();
    assert!(command.run().await.unwrap_err().to_string().contains("no such folder"));
}

#[tokio::test]
async fn a_timeout_is_classified_only_as_a_timeout() {
    use retry_runtime::durable::Description;

    let mut command = sh("echo HTTP 503 >&2; sleep 60");
    command.timeout = Some(Duration::from_millis(200));
    let error = command.run().await.unwrap_err();
    assert!(Description::of(&error).class.contains(retry_runtime::Class::TIMEOUT));
}

#[tokio::test]
async fn a_failure_has_the_output_without_secrets() {
    let masks = Arc::new(Masks::new(["s3cret".to_owned()]));
    let script = "echo \"out s3cret\"; head -c 5000 /dev/zero | tr '\\0' x >&2; \
                  printf s3cret >&2; head -c 4094 /dev/zero | tr '\\0' y >&2; exit 3";
    let error = Invocation { masks, ..sh(script) }.run().await.unwrap_err();
    assert_eq!(error.stdout(), "out ***");
    // Two letters of the secret would be in the last 4 KiB.
    assert!(!error.stderr().contains("et") && error.stderr().ends_with("yyy"));
    assert_eq!(error.exit_code(), Some(3));
    assert!(error.output().starts_with("out ***\n"));
}
