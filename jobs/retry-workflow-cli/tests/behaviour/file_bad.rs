//! The message for each mistake in a workflow file: `data/bad/*.yml`, with the whole text in a
//! `.txt` file beside each. `RETRY_WORKFLOW_BLESS=1` rewrites the texts.

use std::fs;
use std::path::Path;

use retry_workflow_cli::WorkflowFile;

#[test]
fn each_mistake_is_reported_with_its_place_and_its_cure() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad");
    let bless = std::env::var_os("RETRY_WORKFLOW_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yml") {
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&path).unwrap();
        // Use a fixed path, so that no text depends on where the test runs.
        let told = match WorkflowFile::parse("job.yml", &text) {
            Ok(_) => "accepted\n".to_owned(),
            Err(error) => format!("{error}\n"),
        };
        let expected = path.with_extension("txt");
        if bless {
            fs::write(&expected, &told).unwrap();
        } else if fs::read_to_string(&expected).ok().as_deref() != Some(told.as_str()) {
            wrong.push(format!("{}:\n{told}", path.display()));
        }
    }
    assert!(files > 40, "the files are gone");
    assert!(wrong.is_empty(), "told otherwise than in the .txt:\n\n{}", wrong.join("\n"));
}

#[test]
fn a_file_that_is_too_large_is_refused_with_the_place_for_its_items() {
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let lines = format!("  - {list}\n").repeat(40_000);
    let text = format!("name: job\nx-items:\n{lines}commands: [{{ shell: x }}]\n");
    let told = WorkflowFile::parse("job.yml", &text).unwrap_err().to_string();
    assert!(told.contains("this file is too large or too deep for a workflow"), "{told}");
    assert!(told.contains("put lists of items into a file of their own"), "{told}");
}

#[test]
fn a_message_shows_no_more_than_the_beginning_of_a_value() {
    let long = format!("y{}", "ä".repeat(10_000));
    let step = "commands:\n  - command: echo\n";
    for part in [
        "    timeout: \"5@\"\n",
        "    \"@\": 1\n",
        "    on_failure: \"@\"\n",
        "    capture: \"@\"\n",
        "    env: \"@\"\n",
        "    retry_config: { attempts: \"@\" }\n",
        "    retry_config: { initial_delay: \"@\" }\n",
        "    retry_config: { retry_on: [\"@\"] }\n",
        "secrets: \"@\"\n",
        "secrets: [\"@=@\"]\n",
        "map: { input: \"@\" }\n",
        "error_policy: { circuit_breaker: { timeout: \"@\" } }\n",
    ] {
        let text = format!("{step}{part}").replace('@', &long);
        let error = WorkflowFile::parse("job.yml", &text).expect_err(part);
        for (_, message) in error.mistakes() {
            assert!(message.matches('ä').count() <= 400, "{part}: {message:.400}");
        }
    }
}

/// Shortened, it would be another text.
#[test]
fn a_text_that_is_too_long_to_be_shown_is_not_proposed() {
    let told = |length: usize, begin: &str, end: &str| {
        let text = format!("commands:\n  - shell: {begin}{}{end}\n", "x".repeat(length));
        let error = WorkflowFile::parse("job.yml", &text).expect_err(&text);
        error.mistakes().next().unwrap().1.to_owned()
    };
    let cured = "this text needs quotes in YAML: write `shell: 'echo note: x'`";
    assert_eq!(told(1, "echo note: ", ""), cured);
    assert_eq!(told(200, "echo note: ", ""), "this text needs quotes in YAML");
    let cured = "an apostrophe ends a text that began with one: write `shell: 'echo ''x'''`";
    assert_eq!(told(1, "'echo '", "''"), cured);
    let only = "an apostrophe ends a text that began with one";
    assert_eq!(told(200, "'echo '", "''"), only);
    assert_eq!(told(1, "[echo, ", "]"), "this is a list: write the text `\"echo x\"`");
    assert_eq!(told(200, "[echo, ", "]"), "this is a list");
}
