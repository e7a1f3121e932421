//! The examples of the README build alone, as a reader copies them: with the default features, and
//! those that the sentence before an example names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::root;

/// The crates that the examples use, beside retry-runtime.
const BESIDE: &str = "anyhow = \"1\"\nreqwest = { version = \"0.13\", default-features = false }\n\
                      tokio = { version = \"1\", features = [\"macros\", \"net\", \"rt-multi-thread\"] }\n";

/// The features that a text names: each is in code, after the word `feature`.
fn features(text: &str) -> BTreeSet<String> {
    let parts = text.split("feature `").skip(1);
    parts.filter_map(|part| part.split('`').next()).map(str::to_owned).collect()
}

/// The Rust examples of a page that compile, each with the features that it needs.
fn examples(page: &str) -> Vec<(BTreeSet<String>, String)> {
    let mut found = Vec::new();
    let mut before = 0;
    let mut block = None::<String>;
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
                let is_built = kind.starts_with("rust") && !kind.contains("compile_fail");
                block = is_built.then(String::new);
            }
            Event::Text(text) => block.iter_mut().for_each(|block| block.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => {
                let text = page[before..range.start].rsplit("\n\n").nth(1).unwrap_or_default();
                found.extend(block.take().map(|block| (features(text), block)));
                before = range.end;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn features_are_read_from_the_sentence_before_an_example() {
    let page = "**A.** With `x` (feature `reqwest`). And:\n\n```rust\nfn a() {}\n```\n\nThe feature \
                `http` is not for it.\n\nB:\n\n```rust,no_run\nfn b() {}\n```\n\n```toml\n[a]\n```\n";
    let named = BTreeSet::from(["reqwest".to_owned()]);
    let expected = [(named, "fn a() {}\n".to_owned()), (BTreeSet::new(), "fn b() {}\n".to_owned())];
    assert_eq!(examples(page), expected);
}

#[test]
#[ignore = "builds retry-runtime once for each set of features: a step of `.ci/run`"]
fn each_example_of_the_readme_builds_with_the_features_beside_it() {
    let page = fs::read_to_string(root().join("README.md")).expect("the README");
    let mut sets = BTreeMap::<_, Vec<_>>::new();
    for (features, example) in examples(&page) {
        sets.entry(features).or_default().push(example);
    }
    assert!(sets.len() > 1, "no example names a feature");
    let runtime = root().join("retry-runtime").canonicalize().expect("the crate");
    for (features, examples) in sets {
        let folder = tempfile::tempdir().expect("a folder");
        let names: Vec<_> = features.iter().map(|feature| format!("{feature:?}")).collect();
        let manifest = format!(
            "[package]\nname = \"readme\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             retry-runtime = {{ path = {runtime:?}, features = [{}] }}\n{BESIDE}\n[workspace]\n",
            names.join(", ")
        );
        fs::write(folder.path().join("Cargo.toml"), manifest).expect("a manifest");
        fs::copy(root().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("versions");
        let programs = folder.path().join("src/bin");
        fs::create_dir_all(&programs).expect("a folder");
        for (number, example) in examples.iter().enumerate() {
            let is_whole = example.contains("fn main()");
            let program =
                if is_whole { example.clone() } else { format!("fn main() {{\n{example}}}\n") };
            fs::write(programs.join(format!("example_{number}.rs")), program).expect("a program");
        }
        let output = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--bins", "--target-dir"])
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme"))
            .current_dir(folder.path())
            .output()
            .expect("cargo runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "with {features:?}:\n{errors}");
    }
}
