//! `dlq …`, `jobs` and `status` on a store with dead letters, with the real command.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use retry_workflow::store::{
    AttemptOutcome, AttemptRecord, NewItem, Selection, Settled, Settlement,
};
use retry_workflow::{Failure, Filter, ItemState, Signature, SqliteStore, Store, Timestamp};
use serde_json::Value;

use crate::command::{run, told};

const STORE: &str = "retry-workflow.db";

/// A store with these dead letters: id, class, message.
fn store(folder: &Path, letters: &[(&str, &str, &str)]) -> SqliteStore {
    let store = SqliteStore::open(folder.join(STORE)).unwrap();
    wait_for(fill(&store, "orders", letters));
    store
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn fill(store: &impl Store, job: &str, letters: &[(&str, &str, &str)]) {
    let start: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
    let items =
        letters.iter().map(|(id, ..)| NewItem::new(*id, r#"{"n":17,"to":"Ada"}"#)).collect();
    store.enqueue(job, items, start).await.unwrap();
    let minute = Duration::from_secs(60);
    let leases = store
        .claim(job, "host-1", start, Selection::Items { max: letters.len(), starts: 0 }, minute)
        .await
        .unwrap();
    let settlements = leases
        .into_iter()
        .map(|lease| {
            let (_, class, message) = letters.iter().find(|(id, ..)| *id == lease.id).unwrap();
            let failure = Failure::new(*class, *message);
            let mut row = AttemptRecord::new("host-1", start, AttemptOutcome::Failed);
            row.duration = Duration::from_millis(1_234);
            row.step = Some("send".to_owned());
            row.failure = Some(failure.clone());
            Settlement::new(lease.key, Settled::dead(failure), vec![row])
        })
        .collect();
    store.settle(settlements, Vec::new(), start + Duration::from_secs(2)).await.unwrap();
}

const LETTERS: [(&str, &str, &str); 3] = [
    ("a", "timeout", "no answer after 30s"),
    ("b", "timeout", "no answer after 31s"),
    ("c", "other", "order 4711 has no customer"),
];

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], says: &str) {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(errors.contains(says), "{arguments:?}: {errors}");
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The words of a line, because ages vary in width.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn dead_letters_are_listed_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let list = told(folder.path(), &["dlq", "list", "--limit", "2"]);
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(words(lines[0]), ["item", "job", "run", "attempts", "class", "age", "message"]);
    assert_eq!(words(lines[1])[..5], ["a", "orders", "0", "1", "timeout"]);
    assert!(lines[1].ends_with("no answer after 30s"));
    let after = lines[3].strip_prefix("1 more: --after ").unwrap();
    let rest = told(folder.path(), &["dlq", "list", "orders", "--after", after]);
    assert_eq!(words(rest.lines().next().unwrap())[1], "run", "the job is the same for all");
    assert!(rest.lines().nth(1).unwrap().starts_with("c "), "{rest}");
    assert_eq!(rest.lines().count(), 2);
}

#[test]
fn machines_get_an_object_a_line_and_the_next_place() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let first = objects(&told(folder.path(), &["dlq", "list", "--limit", "2", "--json"]));
    assert_eq!((&first[0]["id"], &first[1]["id"]), (&"a".into(), &"b".into()));
    assert_eq!((first.len(), &first[0]["next"]), (2, &first[1]["next"]));
    let after = first[1]["next"].to_string();
    let rest = objects(&told(folder.path(), &["dlq", "list", "--after", &after, "--json"]));
    assert_eq!((&rest[0]["id"], &rest[0]["next"]), (&"c".into(), &Value::Null));
    // As with `jq -r .id` in a shell.
    let ids: Vec<_> = rest.iter().chain(&first).map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["c", "a", "b"]);
    assert_eq!(first[0]["payload"]["to"], "Ada", "JSON, and no text that holds some");
}

#[test]
fn a_job_behind_item_is_refused_and_its_letters_stay() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    // Each takes one id; the next argument is the job.
    for arguments in [
        &["dlq", "purge", "--item", "orders", "--yes"][..],
        &["dlq", "purge", "--item", "a", "--item", "orders", "--yes"],
        &["dlq", "list", "orders", "--item", "orders"],
    ] {
        refused(folder.path(), arguments, "orders is a job, not an item: --item takes the id");
    }
    let purged = told(folder.path(), &["dlq", "purge", "--item", "a", "orders", "--yes"]);
    assert!(purged.contains('1'), "{purged}");
}

#[test]
fn conditions_narrow_the_list() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let id = Signature::new("no answer after 30s").id();
    for (conditions, ids) in [
        (&["--class", "timeout"][..], "ab"),
        (&["--signature", &id], "ab"),
        (&["--signature", &id[..3]], "ab"),
        (&["--signature", "order <n> has no customer"], "c"),
        (&["--item", "c", "--item", "a"], "ac"),
        (&["--since", "2026-11-21T08:00:02Z"], "abc"),
        (&["--until", "2026-11-21T08:00:02Z"], ""),
        (&["orders"], "abc"),
        (&["orders", "--message", "no answer"], "ab"),
        (&["orders", "--where", "item.to == 'Ada' && n < 18"], "abc"),
        (&["orders", "--where", "n > 17"], ""),
        (&["orders", "--where", "n == 17", "--message", "customer"], "c"),
    ] {
        let arguments = [&["dlq", "list", "--json"], conditions].concat();
        let found: String = objects(&told(folder.path(), &arguments))
            .iter()
            .filter_map(|object| object["id"].as_str())
            .collect();
        assert_eq!(found, ids, "{conditions:?}");
    }
    // A job that does not exist must not look like good news.
    refused(folder.path(), &["dlq", "list", "others"], "this store has no job `others`");
    refused(
        folder.path(),
        &["dlq", "list", "a"],
        "`a` is an item, not a job: write `orders --item a`",
    );
    refused(folder.path(), &["dlq", "list", "--signature", "xyz"], &id);
    // Nor a class that is misspelt.
    refused(folder.path(), &["dlq", "list", "--class", "netwrok"], "did you mean `network`?");
    // One that is like none may be a handler's own.
    assert_eq!(
        told(folder.path(), &["dlq", "list", "--class", "purple"]),
        "no dead letters match\n"
    );
    refused(
        folder.path(),
        &["dlq", "list", "--since", "2026-11-22", "--until", "2026-11-21"],
        "earlier than --until",
    );
}

#[test]
fn an_empty_list_is_reported_in_words() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &[]));
    assert_eq!(told(folder.path(), &["dlq", "list"]), "no dead letters\n");
    refused(folder.path(), &["dlq", "list", "x"], "this store has no job `x`: it has no jobs");
    assert_eq!(
        told(folder.path(), &["dlq", "stats", "--class", "panic"]),
        "no dead letters match\n"
    );
    assert_eq!(
        told(folder.path(), &["jobs"]),
        "no jobs yet: start one with `retry-workflow run FILE`\n"
    );
    assert_eq!(told(folder.path(), &["dlq", "retry", "--all"]), "0 dead letters re-driven\n");
    assert_eq!(told(folder.path(), &["dlq", "purge", "--all"]), "0 dead letters purged\n");
    refused(folder.path(), &["status"], "the store has no jobs yet");
    refused(folder.path(), &["status", "x"], "this store has no job `x`: it has no jobs");
    refused(
        folder.path(),
        &["resume", "import.yml"],
        "`import.yml` is a file, but this command takes a job, such as `import-1`",
    );
}

#[test]
fn an_item_is_shown_in_full() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let id = Signature::new("no answer after 30s").id();
    assert_eq!(
        told(folder.path(), &["dlq", "show", "a"]),
        format!(
            "\
item         a
job          orders
correlation  orders/a
state        dead, run 0, attempt 1
ended        2026-11-21 08:00:02Z
signature    {id}  no answer after <n>s

payload
  {{
    \"n\": 17,
    \"to\": \"Ada\"
  }}

failure (timeout)
  no answer after 30s

run 0
   1. failed after 1s 234ms, started 2026-11-21 08:00:00Z, by host-1, in send
      timeout: no answer after 30s
"
        )
    );
    let object = objects(&told(folder.path(), &["dlq", "show", "orders", "a", "--json"]));
    assert_eq!(object[0]["history"][0]["step"], "send");
    let shown = told(folder.path(), &["items", "show", "orders", "a", "--json"]);
    assert_eq!(objects(&shown), object);
    refused(folder.path(), &["dlq", "show", "z"], "no job has an item z");
    refused(folder.path(), &["dlq", "show", "others", "a"], "job others has no item a");
}

#[test]
fn an_item_of_two_jobs_needs_its_job() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &LETTERS);
    wait_for(fill(&store, "others", &LETTERS));
    drop(store);
    refused(folder.path(), &["dlq", "show", "a"], "name one of orders, others");
}

#[test]
fn like_failures_are_counted_together() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let stats = told(folder.path(), &["dlq", "stats"]);
    let lines: Vec<_> = stats.lines().collect();
    let id = Signature::new("no answer after 30s").id();
    assert_eq!(words(lines[1])[..3], [id.as_str(), "2", "timeout"]);
    assert!(lines[1].ends_with("no answer after <n>s"));
    assert_eq!(lines[3], "3 dead letters in 2 groups");
    let groups = objects(&told(folder.path(), &["dlq", "stats", "--json"]));
    assert_eq!((&groups[0]["id"], &groups[0]["count"]), (&id.into(), &2.into()));
}

#[test]
fn hostile_texts_break_neither_the_list_nor_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let id = "a\n\u{1b}]0;pwned\u{7}\u{202e}b";
    drop(store(folder.path(), &[(id, "x\ty", "m\r\n\u{1b}[2Jn\u{9b}31m")]));
    for arguments in [&["dlq", "list"][..], &["dlq", "stats"], &["dlq", "show", id]] {
        let told = told(folder.path(), arguments);
        assert!(
            told.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')),
            "{arguments:?}: {told:?}"
        );
    }
    assert_eq!(told(folder.path(), &["dlq", "list"]).lines().count(), 2);
    let json = told(folder.path(), &["dlq", "list", "--json"]);
    assert!(json.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{json:?}");
    let object = &objects(&json)[0];
    assert_eq!(object["id"], id, "machines get it as it is");
}

#[test]
fn letters_to_re_drive_have_to_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &LETTERS);
    refused(folder.path(), &["dlq", "retry"], "or write --all");
    refused(folder.path(), &["dlq", "retry", "orders", "--all"], "keep one");
    let dry = ["dlq", "retry", "orders", "--dry-run", "--rate", "1/m"];
    assert_eq!(
        told(folder.path(), &dry),
        "3 items would be re-driven; at 1/m, the last one is due after 2m\n"
    );
    let later = ["dlq", "retry", "--class", "timeout", "--later", "--json"];
    assert_eq!(objects(&told(folder.path(), &later))[0]["retried"], 2);
    let counts = wait_for(store.counts("orders")).unwrap();
    assert_eq!((counts.pending, counts.dead), (2, 1));
}

#[test]
fn a_purge_is_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &LETTERS);
    refused(folder.path(), &["dlq", "purge", "orders"], "confirm with --yes");
    refused(folder.path(), &["dlq", "purge", "--yes"], "or write --all");
    let dry = told(folder.path(), &["dlq", "purge", "orders", "--dry-run"]);
    assert_eq!(dry, "3 dead letters would be purged\n");
    assert_eq!(wait_for(store.counts("orders")).unwrap().dead, 3);
    let purged = told(folder.path(), &["dlq", "purge", "--item", "a", "--yes"]);
    assert_eq!(purged, "1 dead letter purged\n");
    assert_eq!(wait_for(store.item("orders", "a")).unwrap().unwrap().payload, "");
    assert!(told(folder.path(), &["dlq", "show", "orders", "a"]).contains("(purged)"));
}

#[test]
fn dead_letters_go_to_another_store_by_a_file() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let written = told(folder.path(), &["dlq", "export", "-o", "letters.jsonl"]);
    assert_eq!(written, "3 dead letters written to letters.jsonl\n");
    refused(folder.path(), &["dlq", "export", "-o", "letters.jsonl"], "already exists");
    let import = ["dlq", "import", "letters.jsonl", "--store", "there.db"];
    assert_eq!(told(folder.path(), &import), "3 items imported\n");
    assert_eq!(told(folder.path(), &import), "0 items imported; 3 already existed\n");
    let there = ["dlq", "export", "--store", "there.db"];
    let kept = std::fs::read_to_string(folder.path().join("letters.jsonl")).unwrap();
    assert_eq!(told(folder.path(), &there), kept);
}

#[test]
fn a_bad_line_is_named_before_anything_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), &LETTERS));
    let mut lines = told(folder.path(), &["dlq", "export"]);
    lines.push_str("{\"job\": \"orders\"}\n");
    std::fs::write(folder.path().join("letters.jsonl"), &lines).unwrap();
    let import = ["dlq", "import", "letters.jsonl", "--store", "there.db"];
    refused(folder.path(), &import, "letters.jsonl: line 4: missing field `id`");
    assert!(!folder.path().join("there.db").exists());
}

#[test]
fn lines_come_through_a_pipe_into_another_job() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &LETTERS);
    let lines = told(folder.path(), &["dlq", "export"]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_retry-workflow"))
        .args(["dlq", "import", "-", "--job", "again", "--json"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&object["new"], &object["known"]), (&3.into(), &0.into()));
    let filter = Filter::job("again").states([ItemState::Dead]);
    assert_eq!(wait_for(store.list(&filter, None, 10)).unwrap().items.len(), 3);
}
