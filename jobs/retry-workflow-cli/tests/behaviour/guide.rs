//! The pages about workflow files: their examples can be run, and they name every key that the
//! reader knows.

use std::fs;
use std::path::{Path, PathBuf};

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

/// The overview and the pages of the guide, each with its name.
pub(crate) fn pages() -> Vec<(String, String)> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = fs::read_dir(package.join("src/guide")).expect("the guide");
    let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.push(package.join("WORKFLOWS.md"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("a page"))
    };
    paths.into_iter().map(read).collect()
}

/// The YAML examples of a page that are whole files.
pub(crate) fn examples(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n```yaml\n")
        .skip(1)
        .map(|block| block.split_once("\n```").expect("the block ends").0)
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
    let mut count = 0;
    for (name, page) in pages() {
        let mut of_page = 0;
        for text in examples(&page) {
            if let Err(error) = WorkflowFile::parse(&path, text) {
                panic!("{name}: {error}\n{text}");
            }
            of_page += 1;
        }
        let fragments = page.matches("\n```yaml,fragment\n").count();
        let all = page.matches("```yaml").count();
        assert_eq!(of_page + fragments, all, "{name} has a block of another kind");
        count += of_page;
    }
    assert!(count >= 20, "the pages have few examples: {count}");
}

#[test]
fn the_pages_have_an_example_of_each_mode() {
    let pages = pages();
    for mode in ["standard", "mapreduce", "graph"] {
        let is_shown = |(_, page): &(String, String)| page.contains(&format!("\nmode: {mode}\n"));
        assert!(pages.iter().any(is_shown), "{mode}");
    }
}

#[test]
fn the_pages_name_every_key_and_word() {
    let pages = pages();
    let code: Vec<_> = pages.iter().flat_map(|(_, page)| code(page)).collect();
    let is_named = |word: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        code.iter().any(|code| code.split(|c| !is_part(c)).any(|part| part == word))
    };
    let keys =
        PLACES.iter().flat_map(|place| known(place).into_iter().map(move |key| (place.name, key)));
    let words = WORDS.iter().map(|word| ("words", (*word).to_owned()));
    let missing: Vec<_> = keys.chain(words).filter(|(_, word)| !is_named(word)).collect();
    assert!(missing.is_empty(), "the pages do not name {missing:?}");
}

#[test]
fn the_overview_and_the_documentation_have_each_page() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path| fs::read_to_string(package.join(path)).expect("a page");
    let (overview, module) = (read("WORKFLOWS.md"), read("src/guide.rs"));
    for (name, _) in pages().iter().filter(|(name, _)| name != "WORKFLOWS.md") {
        assert!(overview.contains(&format!("][{name}] |")), "WORKFLOWS.md: {name}");
        assert!(module.contains(&format!("\"guide/{name}\"")), "src/guide.rs: {name}");
    }
}
