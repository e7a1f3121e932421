//! The forms that a workflow file may have.

use std::path::Path;

use retry_workflow::OnItemFailure;
use retry_workflow::job::ErrorCollection;
use retry_workflow_cli::WorkflowFile;

use super::places::PLACES;

#[track_caller]
fn file(text: &str) -> WorkflowFile {
    match WorkflowFile::parse("job.yml", text) {
        Ok(file) => file,
        Err(error) => panic!("{error}"),
    }
}

fn data(name: &str) -> WorkflowFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/config").join(name);
    match WorkflowFile::read(path) {
        Ok(file) => file,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_three_modes_are_read() {
    let file = data("command-level.yml");
    assert_eq!((file.name(), file.mode()), ("nightly-report", "standard"));
    let file = data("task-graph.yml");
    assert_eq!((file.name(), file.mode()), ("publish-site", "graph"));
    let file = data("workflow-level.yml");
    assert_eq!((file.name(), file.mode()), ("import-customers", "mapreduce"));
    let policy = file.error_policy();
    let batched = ErrorCollection::Batched { size: 5 };
    assert_eq!(*policy, policy.clone().error_collection(batched));
}

#[test]
fn every_form_of_a_step_is_read() {
    for step in [
        "shell: 'true'",
        "claude: 'look at it'",
        "{ name: x, shell: 'true', timeout: 10m }",
        "{ shell: 'true', timeout: { secs: 3, nanos: 0 } }",
        "{ shell: 'true', retry_config: { backoff: fixed } }",
        "{ shell: 'true', retry_config: { backoff: { fixed: null } } }",
        "{ shell: 'true', retry_config: { backoff: { custom: { delays: [500ms, { secs: 3, nanos: 0 }] } } } }",
        "{ shell: 'true', retry_config: { attempts: unlimited, retry_budget: 1h, jitter: full } }",
        "{ shell: 'true', retry_config: { on_failure: continue } }",
        "{ shell: 'true', retry_config: { on_failure: { fallback: { command: x } } } }",
        "{ shell: 'true', on_failure: stop }",
        "{ shell: 'true', on_failure: continue }",
        "{ shell: 'true', on_failure: { continue: null } }",
        "{ shell: 'true', on_failure: { fallback: { command: 'echo ${error}' } } }",
        "{ shell: 'true', on_failure: { shell: 'echo ${error}' } }",
        "{ shell: 'true', on_failure: [{ shell: 'echo ${error}' }, { claude: '${error} ${last.output}' }] }",
        "{ shell: yes }",
    ] {
        file(&format!("commands:\n  - {step}\n"));
        // A single step needs no list.
        file(&format!("commands:\n  {step}\n"));
    }
}

#[test]
fn every_form_of_an_error_policy_is_read() {
    for (policy, action) in [
        ("on_item_failure: dlq", OnItemFailure::Dlq),
        ("on_item_failure: retry", OnItemFailure::Retry),
        ("on_item_failure: skip", OnItemFailure::Skip),
        ("on_item_failure: stop", OnItemFailure::Stop),
        ("on_item_failure: tell", OnItemFailure::Custom("tell".to_owned())),
        ("on_item_failure: { custom: tell }", OnItemFailure::Custom("tell".to_owned())),
        ("error_collection: aggregate", OnItemFailure::Dlq),
        ("error_collection: immediate", OnItemFailure::Dlq),
        ("error_collection: { batched: { size: 5 } }", OnItemFailure::Dlq),
        ("circuit_breaker: { timeout: 30s, on_open: stop }", OnItemFailure::Dlq),
        (
            "retry_config: { max_attempts: 3, backoff: { fixed: { delay: 1s } } }",
            OnItemFailure::Dlq,
        ),
    ] {
        let text = format!(
            "error_policy:\n  {policy}\nhandlers:\n  tell:\n  - shell: 'echo ${{item.id}} ${{error}}'\nmap:\n  input: x.json\n  agent_template:\n  - shell: 'true'\n"
        );
        assert_eq!(*file(&text).error_policy().get_on_item_failure(), action);
    }
}

#[test]
fn a_task_has_the_settings_of_its_style_or_a_retry_config() {
    file(
        "tasks:\n  a: { shell: x }\n  1:\n    shell: x\n    depends_on: a\n    max_retries: 0\n  c:\n    \
         claude: x\n    depends_on: [a, '1']\n    retry_config: { attempts: 2 }\n    on_failure: continue\n",
    );
}

#[test]
fn a_missing_name_defaults_to_the_file_name() {
    assert_eq!(file("commands: { shell: x }").name(), "job");
}

#[test]
fn a_byte_order_mark_and_windows_lines_are_read() {
    let file = file("\u{feff}name: x\r\ncommands:\r\n  - shell: \"true\"\r\n");
    assert_eq!(file.name(), "x");
}

#[test]
fn anchors_are_read() {
    file(
        "commands:\n  - shell: a\n    retry_config: &often { attempts: 9 }\n  - shell: b\n    \
         retry_config: *often\n  - shell: c\n    retry_config:\n      <<: *often\n      jitter: true\n",
    );
}

#[test]
fn keys_for_anchors_are_left_alone_in_each_place() {
    for place in &PLACES {
        let text = place.file.replace("qqqq: 1", "x-qqqq: &one { shell: x }");
        if let Err(error) = WorkflowFile::parse("job.yml", &text) {
            // Something required is missing.
            assert!(!error.to_string().contains("`x-qqqq`"), "{}: {error}", place.name);
        }
    }
    file(
        "map:\n  input: x.json\n  x-often: &often { attempts: 9, timeout: 90 }\n  agent_template:\n  - shell: a\n    x-why: &why [network]\n    retry_config: { <<: *often, x-tuned: 2026-11-22, retry_on: *why }\nerror_policy: { x-noted: [], max_failures: 3 }\n",
    );
}

#[test]
fn timeouts_may_be_numbers_of_seconds() {
    let limits = |text: &str| {
        for timeout in ["90", "1.5", "30s", "{ secs: 3 }"] {
            file(&text.replace("LIMIT", timeout));
        }
        for (timeout, why) in [("-1", "cannot be negative"), ("0", "0"), ("true", "`true`")] {
            let text = text.replace("LIMIT", timeout);
            let error = WorkflowFile::parse("job.yml", &text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("timeout"), "{timeout}: {error}");
        }
    };
    limits("commands: { shell: x, timeout: LIMIT }");
    limits("commands: { shell: x, retry_config: { timeout: LIMIT } }");
    limits(
        "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { circuit_breaker: { timeout: LIMIT } } }",
    );
    let error =
        WorkflowFile::parse("job.yml", "commands: { shell: x, retry_config: { max_delay: 5 } }");
    assert!(error.unwrap_err().to_string().contains("a duration needs a unit"));
}

#[test]
fn hostile_files_are_errors() {
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "commands: \"${item".repeat(1_000),
        "a: &a [*a]".to_owned(),
        format!("map: {{ input: x.json, json_path: \"$[?{}\" }}", "(".repeat(50_000)),
        format!("map: {{ input: x.json, json_path: \"$[?{}\" }}", "@[?".repeat(50_000)),
        format!("map: {{ input: x.json, json_path: \"$[?{}\" }}", "(".repeat(7)),
        format!("map: {{ input: x.json, json_path: \"$[?{}\" }}", "!".repeat(1_900)),
        format!("map: {{ input: x.json, json_path: \"$[?{}\" }}", "@.a && ".repeat(250)),
        "\0".to_owned(),
        "commands:\n- shell: \"a\\0b\"\n".to_owned(),
        "commands:\n- shell: !!binary aGk=\n  timeout: .nan\n".to_owned(),
    ] {
        let error = WorkflowFile::parse("job.yml", &text).unwrap_err().to_string();
        assert!(error.starts_with("error: ") && error.len() < 100_000);
    }
}

#[test]
fn a_message_shows_no_more_than_the_beginning_of_a_value() {
    const MAP: &str = "map: { input: x.json, agent_template: { shell: x }, ";

    let long = "ä".repeat(10_000);
    // Each `@` stands for a long text.
    for text in [
        "commands: \"echo ${@}\"",
        "commands: \"echo ${item.@ | @}\"",
        "commands: { shell: x, when: \"@\" }",
        "commands: { shell: x, timeout: \"@\" }",
        "commands: { shell: x, @: 1 }",
        "commands: { shell: x, capture: \"@\" }",
        "commands: { shell: x, retry_config: { attempts: \"@\" } }",
        "commands: { shell: x, retry_config: { initial_delay: { secs: \"@\" } } }",
        "commands: { shell: x, retry_config: { backoff: { fixed: \"@\" } } }",
        "commands: { shell: x, retry_config: { retry_on: [@] } }",
        "commands: { shell: x, retry_config: \"@\" }",
        "{ mode: \"@\", commands: { shell: x } }",
        "{ mode: \"two words @ `@` \\\"@\\\"\", commands: { shell: x } }",
        "{ @: 1, commands: { shell: x } }",
        "{ commands: { shell: x }, error_policy: { on_item_failure: \"@\" } }",
        "{ commands: { shell: x }, env: { \"@ @\": 1 } }",
        "tasks: { a: { shell: x, needs: [@] } }",
        "commands: { shell: x }\n  @",
        "\"@\"",
        &format!("{MAP}max_parallel: \"@\" }}"),
        &format!("{MAP}json_path: \"$.@[\" }}"),
        &format!("{MAP}filter: \"@ >\" }}"),
        &format!("{MAP}rate: \"@\" }}"),
        &format!("{MAP}max_parallel: 1{} }}", "0".repeat(100_000)),
    ] {
        let error = WorkflowFile::parse("job.yml", &text.replace('@', &long)).unwrap_err();
        for (_, message) in error.mistakes() {
            let (shown, length) = (message.matches('ä').count(), message.chars().count());
            assert!(shown <= 900 && length <= 1_000, "{text}: {shown}, {length}: {message:.400}");
        }
        // With the line of each mistake.
        let length = error.to_string().chars().count();
        assert!(length <= 2_000 * error.count(), "{text}: {length}");
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let error = WorkflowFile::read("no-such.yml").unwrap_err().to_string();
    assert_eq!(error, "error: cannot read the workflow: there is no such file\n --> no-such.yml");
}

#[test]
fn the_forms_that_files_in_the_wild_have_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/config/real-forms.yml");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, documents) = text.split_once("\n---\n").unwrap();
    let documents: Vec<_> = documents.split("\n---\n").collect();
    let read = |number: usize| WorkflowFile::parse("job.yml", documents[number]);
    for (number, name, mode) in
        [(0, "job", "standard"), (1, "captured", "standard"), (2, "mapped", "mapreduce")]
    {
        let file = read(number).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((file.name(), file.mode()), (name, mode));
    }
    let refused = read(3).unwrap_err().to_string();
    assert!(
        refused.contains("`commit_required` belongs to tools that run steps in git worktrees"),
        "{refused}"
    );
    assert_eq!(documents.len(), 4);
}
