//! `items`, `completions` and `man`, with the real command.

use std::path::Path;

use serde_json::Value;

use crate::command::{orders, run, told};

fn ids(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let arguments = [&["items", "list", "--json"], arguments].concat();
    let id = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
    };
    told(folder, &arguments).lines().map(id).collect()
}

#[test]
fn items_are_listed_whatever_has_become_of_them() {
    let folder = orders();
    assert_eq!(ids(folder.path(), &["orders-1"]).len(), 3);
    assert_eq!(ids(folder.path(), &["--state", "succeeded"]).len(), 2);
    let failed = ids(folder.path(), &["--state", "dead", "--state", "pending"]);
    assert_eq!(failed.len(), 1);
    assert_eq!(ids(folder.path(), &["--limit", "2"]).len(), 2);
    let list = told(folder.path(), &["items", "list", "--state", "dead"]);
    let row: Vec<_> = list.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..5], [&*failed[0], "orders-1", "dead", "0", "1"], "{list}");
    assert!(list.trim_end().ends_with("ago  no customer 3"), "{list}");
    let none = told(folder.path(), &["items", "list", "--state", "leased"]);
    assert_eq!(none, "no items match\n");
}

#[test]
fn an_item_that_succeeded_is_shown_too() {
    let folder = orders();
    let done = ids(folder.path(), &["--state", "succeeded"]).swap_remove(0);
    let shown = told(folder.path(), &["items", "show", "orders-1", &done]);
    assert!(shown.contains("state        succeeded, run 0, attempt 1\n"), "{shown}");
}

#[test]
fn an_unknown_state_is_refused_with_the_known_ones() {
    let folder = orders();
    for (state, cure) in [
        ("odd", "expected one of `pending`, `leased`, `succeeded`, `dead`, `skipped`"),
        ("succeded", "did you mean `succeeded`?"),
        ("failed", "write `dead`, or `pending` for those that are to be retried"),
        ("done", "write `succeeded`"),
    ] {
        let output = run(folder.path(), &["items", "list", "--state", state]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(told.contains(&format!("for '--state <STATE>': {cure}")), "{told}");
    }
}

#[test]
fn shells_get_their_completions_and_man_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, has) in
        [("bash", "_retry__workflow()"), ("zsh", "#compdef"), ("fish", "complete -c")]
    {
        let script = told(folder.path(), &["completions", shell]);
        assert!(script.contains(has) && script.contains("max-parallel"), "{shell}");
        // Bash shows no help texts.
        let cancel = if shell == "bash" { "items,cancel)" } else { "skip those that wait" };
        assert!(script.contains(cancel), "{shell}");
    }
    told(folder.path(), &["man", "man1"]);
    let page = |name: &str| std::fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
    let codes = page("retry-workflow.1");
    assert!(codes.contains("Exit codes:") && codes.contains("5  the job finished without dead"));
    assert!(page("retry-workflow-dlq-retry.1").contains(".TH"));
}

#[test]
fn an_item_is_found_without_its_job_or_reported_as_missing() {
    let folder = orders();
    let done = ids(folder.path(), &["--state", "succeeded"]).remove(0);
    assert!(told(folder.path(), &["items", "show", &done]).contains("state        succeeded"));
    let output = run(folder.path(), &["items", "show", "17"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors.contains("no job has an item 17: `retry-workflow items list` shows"),
        "{errors}"
    );
}
