//! `check --schema`: the schema has the same keys as the reader, accepts what the reader accepts,
//! and rejects what an editor should point out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use retry_workflow_cli::WorkflowFile;
use serde_json::Value;

use super::command::run;
use super::guide;
use super::places::{PLACES, known};

fn schema() -> Value {
    let output = run(Path::new("."), &["check", "--schema"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Validates workflow files against the schema.
struct Judge {
    schemas: boon::Schemas,
    file: boon::SchemaIndex,
}

impl Judge {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        compiler.add_resource("https://example.com/workflow.json", schema()).unwrap();
        let file = compiler.compile("https://example.com/workflow.json", &mut schemas);
        Self { file: file.unwrap_or_else(|error| panic!("{error:#}")), schemas }
    }

    fn complaint(&self, yaml: &str) -> Option<String> {
        let options = serde_saphyr::options! {
            strict_booleans: true,
            merge_keys: serde_saphyr::MergeKeyPolicy::Merge,
        };
        let value: Value = serde_saphyr::from_str_with_options(yaml, options).unwrap();
        let judged = self.schemas.validate(&value, self.file);
        judged.err().map(|error| format!("{error:#}"))
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "yml")).collect()
}

#[test]
fn the_schema_has_the_keys_of_the_reader_in_each_place() {
    let schema = schema();
    for place in &PLACES {
        let mut has = BTreeSet::new();
        for path in place.schema {
            let keys = schema.pointer(&format!("/definitions{path}"));
            let keys = keys.unwrap_or_else(|| panic!("{}: {path}", place.name));
            assert_eq!(keys["additionalProperties"], false, "{}", place.name);
            for (key, value) in keys["properties"].as_object().unwrap() {
                let says = value["description"].as_str().unwrap_or_default();
                assert!(!says.is_empty(), "{}: `{key}` is not described", place.name);
                has.insert(key.clone());
            }
        }
        assert_eq!(has, known(place).into_iter().collect(), "{}", place.name);
    }
}

#[test]
fn files_that_the_reader_accepts_are_valid_by_the_schema() {
    let judge = Judge::new();
    let mut texts: Vec<_> = files("tests/data/workflows")
        .into_iter()
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()))
        .collect();
    assert!(texts.len() >= 70, "{}", texts.len());
    for path in files("../../tests/data/config") {
        let text = fs::read_to_string(&path).unwrap();
        let documents = text.split("\n---\n").map(str::to_owned);
        texts.extend(documents.map(|text| (path.display().to_string(), text)));
    }
    for (name, page) in guide::pages() {
        texts.extend(guide::examples(&page).map(|text| (name.clone(), text.to_owned())));
    }
    let mut count = 0;
    for (name, text) in texts {
        if WorkflowFile::parse("job.yml", &text).is_err() {
            continue;
        }
        count += 1;
        if let Some(complaint) = judge.complaint(&text) {
            panic!("{name}: {complaint}\n{text}");
        }
    }
    assert!(count >= 90, "{count}");
}

#[test]
fn mistakes_that_an_editor_can_show_are_invalid_by_the_schema() {
    let judge = Judge::new();
    for (wrong, right) in [
        ("commands: { shell: x, tiemout: 5s }", "commands: { shell: x, timeout: 5s }"),
        ("{ commands: { shell: x }, map: {} }", "{ commands: { shell: x }, x-map: {} }"),
        ("name: nothing", "{ name: x, commands: { shell: x } }"),
        ("commands: []", "commands: [{ shell: x }]"),
        ("commands: { shell: x, exec: [x] }", "commands: { exec: [x] }"),
        ("commands: { name: x }", "commands: { name: x, claude: x }"),
        ("commands: { shell: true }", "commands: { shell: 'true' }"),
        (
            "commands: { shell: x, retry_config: { backoff: linear } }",
            "commands: { shell: x, retry_config: { backoff: { linear: { increment: 2s } } } }",
        ),
        (
            "commands: { shell: x, retry_config: { backoff: { type: fixed, base: 2 } } }",
            "commands: { shell: x, retry_config: { backoff: { type: exponential, base: 2 } } }",
        ),
        (
            "commands: { shell: x, retry_config: { deadline: 5s } }",
            "commands: { shell: x, retry_config: { max_elapsed: 5s } }",
        ),
        (
            "commands: { shell: x, retry_config: { max_retry_after: 5s } }",
            "commands: { shell: x, max_retry_after: 5s, retry_config: {} }",
        ),
        (
            "commands: { shell: x, retry_config: { max_postponed: 5h } }",
            "commands: { shell: x, max_postponed: 5h, retry_config: {} }",
        ),
        (
            "commands: { shell: x, max_postponed: 5 }",
            "commands: { shell: x, max_postponed: unlimited }",
        ),
        (
            "commands: { shell: x, max_retry_after: none }",
            "commands: { shell: x, max_retry_after: unlimited }",
        ),
        (
            "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { retry_config: { max_retry_after: 5s } } }",
            "{ map: { input: x.json, agent_template: { shell: x, max_retry_after: 5s } }, error_policy: { retry_config: {} } }",
        ),
        (
            "commands: { shell: x, retry_config: { retry_on: [netwrok] } }",
            "commands: { shell: x, retry_config: { retry_on: [network, { pattern: x }] } }",
        ),
        (
            "commands: { shell: x, retry_config: { retry_on: [connected] } }",
            "commands: { shell: x, retry_config: { retry_on: [connect], abort_on: [conflict] } }",
        ),
        (
            "commands: { shell: x, retry_config: { retry_on: [connect, timeout, network] } }",
            "commands: { shell: x, retry_config: { retry_on: [connect, timeout] } }",
        ),
        (
            "commands: { shell: x, retry_config: { retry_on: [timeout, transient] } }",
            "commands: { shell: x, retry_config: { retry_on: [transient, { exit_code: 75 }] } }",
        ),
        (
            "commands: { shell: x, retry_config: { retry_on: [75] } }",
            "commands: { shell: x, retry_config: { retry_on: [{ exit_code: 75 }, { exit_code: [64-78, 137] }] } }",
        ),
        (
            "commands: { shell: x, retry_config: { uncounted: [{ pattern: x }] } }",
            "commands: { shell: x, retry_config: { uncounted: [rate_limit, timeout] } }",
        ),
        (
            "commands: { shell: x, retry_config: { abort_on: [{ exit_code: 256 }] } }",
            "commands: { shell: x, retry_config: { abort_on: [{ exit_code: 64-78 }] } }",
        ),
        ("{ commands: { shell: x }, max_lost: 0 }", "{ commands: { shell: x }, max_lost: 5 }"),
        (
            "{ tasks: { a: { shell: x } }, max_lost: no }",
            "{ tasks: { a: { shell: x } }, max_lost: unlimited }",
        ),
        ("tasks: { a: { shell: x, depends: b } }", "tasks: { a: { shell: x, depends_on: [] } }"),
        (
            "{ mode: standard, map: { input: x.json, agent_template: { shell: x } } }",
            "{ mode: mapreduce, map: { input: x.json, agent_template: { shell: x } } }",
        ),
        ("map: { input: x.json }", "map: { input: x.json, agent_template: { shell: x } }"),
        (
            "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { circuit_breaker: { timeout: none } } }",
            "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { circuit_breaker: { timeout: 45 } } }",
        ),
    ] {
        assert!(judge.complaint(wrong).is_some(), "{wrong}");
        assert!(WorkflowFile::parse("job.yml", wrong).is_err(), "{wrong}");
        assert_eq!(judge.complaint(right), None, "{right}");
        if let Err(error) = WorkflowFile::parse("job.yml", right) {
            panic!("{error}");
        }
    }
}

/// A schema that is too permissive is of little use: of the files that the reader rejects because
/// of keys or types, no more than this number pass.
#[test]
fn unknown_keys_are_invalid_by_the_schema() {
    let judge = Judge::new();
    let mut count = 0;
    for path in files("tests/data/bad") {
        let text = fs::read_to_string(&path).unwrap();
        let Err(error) = WorkflowFile::parse("job.yml", &text) else { panic!("{path:?}") };
        let error = error.to_string();
        if error.contains("unknown key") && !error.contains("no YAML") {
            count += 1;
            assert!(judge.complaint(&text).is_some(), "{}: {error}", path.display());
        }
    }
    assert!(count >= 8, "{count}");
}
