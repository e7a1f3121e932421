//! The message and the exit code of a command that cannot do what it was asked for.

use std::path::Path;
use std::process::{Command, Stdio};

use retry_tests_support::recorded::differences;

use crate::command::run;

#[track_caller]
fn fails(arguments: &[&str], says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(told.contains(says), "{arguments:?}: {told}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    // A command that fails leaves no store behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
}

/// The whole messages are in `data/mistakes.txt`. `RETRY_WORKFLOW_BLESS=1` rewrites them.
#[test]
fn each_mistake_in_arguments_is_exit_code_2_and_reported_with_its_cure() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mistakes.txt");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.yml"), "commands: [{ shell: \"true\" }]\n").unwrap();
    let differences = differences(&path, "RETRY_WORKFLOW_BLESS", |_, line| {
        // Words in apostrophes have no apostrophes inside.
        let parts = line.trim_end().split('\'').enumerate();
        let words = parts.flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let output = run(folder.path(), &words.skip(1).collect::<Vec<_>>());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        assert!(output.stdout.is_empty(), "{line}");
        told
    });
    // A command that fails leaves no store behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_message_shows_no_more_than_the_beginning_of_an_argument() {
    let long = "ä".repeat(20_000);
    // Each `@` stands for a long text.
    for arguments in [
        &["@"][..],
        &["jobs", "@"],
        &["jobs", "--@"],
        &["run", "@"],
        &["check", "@"],
        &["run", "job.yml", "--max-parallel", "@"],
        &["run", "job.yml", "--job-id", "@ /"],
        &["run", "job.yml", "--busy-timeout", "@"],
        &["run", "job.yml", "--set", "@"],
        &["status", "@"],
        &["jobs", "--store", "@"],
        &["jobs", "--store", "postgres:@"],
        &["dlq", "list", "--limit", "@"],
        &["dlq", "list", "--since", "@"],
        &["dlq", "list", "--where", "@ >"],
        &["dlq", "retry", "--all", "--rate", "@"],
        &["explain", "--attempts", "@"],
        &["explain", "--initial-delay", "@"],
        &["explain", "--backoff", "@"],
        &["board", "--listen", "@"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let written: Vec<_> = arguments.iter().map(|word| word.replace('@', &long)).collect();
        let written: Vec<_> = written.iter().map(String::as_str).collect();
        let output = run(folder.path(), &written);
        let told = String::from_utf8(output.stderr).unwrap();
        let (shown, length) = (told.matches('ä').count(), told.chars().count());
        assert!(!output.status.success(), "{arguments:?}");
        assert!(shown <= 900 && length <= 2_000, "{arguments:?}: {shown}, {length}: {told:.600}");
    }
}

#[test]
fn a_store_that_is_not_there_is_exit_code_2_and_is_not_made() {
    for arguments in [
        &["jobs"][..],
        &["status"],
        &["resume"],
        &["dlq", "list"],
        &["dlq", "retry", "--all"],
        &["dlq", "export"],
    ] {
        fails(arguments, "there is no store at retry-workflow.db");
    }
    fails(&["jobs", "--store", "other.db"], "there is no store at other.db");
    fails(&["dlq", "import", "letters.jsonl"], "cannot read letters.jsonl");
}

#[test]
fn a_file_that_is_not_a_store_is_exit_code_2_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "dear diary, ".repeat(1_000)).unwrap();
    let output = run(folder.path(), &["jobs", "--store", "notes.txt"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a retry-workflow store"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "dear diary, ".repeat(1_000));
}

#[test]
fn a_store_of_another_layout_is_exit_code_2_for_every_command() {
    let lacks =
        "PRAGMA application_id = 0x72747766; PRAGMA user_version = 1; CREATE TABLE jobs (job)";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("retry-workflow.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(lacks).unwrap();
    let before = std::fs::read(&path).unwrap();
    let commands: [&[&str]; 5] =
        [&["resume"], &["jobs"], &["store", "check"], &["store", "migrate"], &["dlq", "list"]];
    for arguments in commands {
        let output = run(folder.path(), arguments);
        let shown = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(shown.contains("layout 1, but lacks clock.boot, "), "{arguments:?}: {shown}");
        assert!(shown.contains("finish its jobs with that program"), "{arguments:?}: {shown}");
    }
    assert!(std::fs::read(&path).unwrap() == before, "nothing was changed");
}

#[test]
fn a_picture_that_cannot_be_written_is_exit_code_2() {
    fails(&["explain", "--svg", "no/such/folder.svg"], "cannot write");
}

#[test]
fn help_and_version_exit_successfully() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in
        [&["--help"][..], &["--version"], &["dlq", "retry", "--help"], &["help", "explain"]]
    {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty());
    }
}

#[test]
fn nothing_in_an_argument_steers_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["jobs", "--store", "\u{1b}[2J\u{7}.db"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.contains(&0x1b) && !output.stderr.contains(&7), "{output:?}");
}

#[test]
fn a_closed_output_does_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_retry-workflow"))
        .args(["explain", "--attempts", "1000"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_picture_goes_to_standard_output_alone() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["explain", "--attempts", "5", "--svg", "-"]);
    let picture = String::from_utf8(output.stdout).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("<title id=\"title\">"));
}

#[test]
fn an_explained_policy_is_json_for_machines() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["explain", "--jitter", "0.5", "--json"]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["waits"][1]["longest"], 3.0);
    assert_eq!(object["waits"][1]["attempt"], 3);
}
