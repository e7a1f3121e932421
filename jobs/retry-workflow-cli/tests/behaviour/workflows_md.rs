//! The page about workflow files: its examples can be run, and it mentions every key that the
//! reader knows.

use std::fs;
use std::path::Path;

use retry_workflow_cli::WorkflowFile;

use super::places::{PLACES, known};

/// Words that are not keys of any map with a fixed list of keys.
const WORDS: &[&str] = &[
    "standard",
    "mapreduce",
    "graph",
    "fixed",
    "linear",
    "exponential",
    "fibonacci",
    "custom",
    "network",
    "connect",
    "timeout",
    "server_error",
    "rate_limit",
    "conflict",
    "transient",
    "pattern",
    "exit_code",
    "unlimited",
    "full",
    "equal",
    "decorrelated",
    "none",
    "stop",
    "continue",
    "fallback",
    "command",
    "dlq",
    "retry",
    "skip",
    "aggregate",
    "immediate",
    "batched",
    "size",
    "wait",
    "secs",
    "nanos",
    "jsonl",
    "csv",
    "ASC",
    "DESC",
    "string",
    "number",
    "boolean",
    "json",
    "lines",
    "matches",
    "commit_required",
    "merge",
    "validate",
    "analyze",
    "goal_seek",
    "foreach",
    "write_file",
    "item",
    "error",
    "shell.output",
    "last.output",
    "map.results",
    "map.total",
    "map.successful",
    "map.failed",
    "RETRY_WORKFLOW_JOB",
    "RETRY_WORKFLOW_ITEM",
    "RETRY_WORKFLOW_CORRELATION_ID",
    "RETRY_WORKFLOW_RUN",
    "RETRY_WORKFLOW_ATTEMPT",
    "RETRY_WORKFLOW_RETRY_COUNT",
    "RETRY_WORKFLOW_ITEM_FILE",
    "RETRY_WORKFLOW_RESULTS_FILE",
    "RETRY_WORKFLOW_VALUE_1_FILE",
    "payload",
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("WORKFLOWS.md");
    fs::read_to_string(path).expect("the page")
}

/// Everything in backticks, except in code blocks.
fn code(page: &str) -> Vec<&str> {
    let prose = page.split("\n```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn each_example_is_a_file_that_can_be_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("job.yml");
    let page = page();
    let mut count = 0;
    for block in page.split("\n```yaml\n").skip(1) {
        let (text, _) = block.split_once("\n```").expect("the block ends");
        if let Err(error) = WorkflowFile::parse(&path, text) {
            panic!("{error}\n{text}");
        }
        count += 1;
    }
    assert!(count >= 7, "the page has few examples: {count}");
    let fragments = page.matches("\n```yaml,fragment\n").count();
    assert_eq!(count + fragments, page.matches("```yaml").count(), "a block of another kind");
}

#[test]
fn the_page_has_an_example_of_each_mode() {
    for mode in ["standard", "mapreduce", "graph"] {
        assert!(page().contains(&format!("\nmode: {mode}\n")), "{mode}");
    }
}

#[test]
fn the_page_names_every_key_and_word() {
    let page = page();
    let code = code(&page);
    let is_named = |word: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        code.iter().any(|code| code.split(|c| !is_part(c)).any(|part| part == word))
    };
    let keys =
        PLACES.iter().flat_map(|place| known(place).into_iter().map(move |key| (place.name, key)));
    let words = WORDS.iter().map(|word| ("words", (*word).to_owned()));
    let missing: Vec<_> = keys.chain(words).filter(|(_, word)| !is_named(word)).collect();
    assert!(missing.is_empty(), "the page does not name {missing:?}");
}

#[test]
fn the_links_of_the_page_lead_to_headings() {
    let page = page();
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        format!("#{}", kept.collect::<String>().replace(' ', "-"))
    };
    let anchors: Vec<_> = page.lines().filter(|line| line.starts_with('#')).map(anchor).collect();
    for link in page.split("](#").skip(1) {
        let link = format!("#{}", link.split(')').next().unwrap_or_default());
        assert!(anchors.contains(&link), "{link} leads nowhere: {anchors:?}");
    }
}
