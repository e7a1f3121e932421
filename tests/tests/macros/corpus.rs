//! Runs the texts that the fuzzer has kept (`fuzz/corpus`) through the same checks, so that they
//! are also tested on machines without a fuzzer.

#[path = "../../../fuzz/checks/attribute.rs"]
mod attribute;
#[path = "../../../fuzz/checks/file.rs"]
mod file;
#[path = "../../../fuzz/checks/workflow.rs"]
mod workflow;

use std::path::Path;

/// Checks each text of a target's corpus. Like the fuzzer, skips files that are not text.
fn each(target: &str, check: fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut tried = 0;
    for entry in std::fs::read_dir(&folder).expect("a corpus") {
        let path = entry.expect("a file").path();
        if let Ok(text) = std::fs::read_to_string(&path) {
            println!("{}", path.display());
            check(&text);
            tried += 1;
        }
    }
    assert!(tried > 0, "the corpus of {target} is gone");
}

#[test]
fn the_fuzzing_corpus_of_the_attribute_holds() {
    each("attribute", attribute::check);
}

#[test]
fn the_fuzzing_corpus_of_files_holds() {
    each("file", file::check);
}

#[test]
fn the_fuzzing_corpus_of_workflows_holds() {
    each("workflow", workflow::check);
}
