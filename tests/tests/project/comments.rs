//! The language of doc comments: each opens with a noun phrase or a verb, as in std, and not with an
//! indirect question that a reader has to turn round.

use std::fs;
use std::path::Path;

/// Words that open an indirect question.
const QUESTIONS: [&str; 10] =
    ["How", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Whom", "Why"];

/// Folders whose doc comments are not documentation: the help texts of the command's options.
const EXCEPT: [&str; 1] = ["jobs/retry-workflow-cli/src/command/arguments"];

/// The places in this folder where a doc comment opens with one of [`QUESTIONS`], and the number of
/// doc comments in it.
fn questions(folder: &Path, found: &mut Vec<String>) -> usize {
    let mut comments = 0;
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if EXCEPT.iter().any(|folder| path.with_extension("").ends_with(folder)) {
            continue;
        }
        if path.is_dir() {
            comments += questions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a source");
            let mut before = "";
            for (number, line) in source.lines().map(str::trim_start).enumerate() {
                let mark = ["/// ", "//! "].into_iter().find(|mark| line.starts_with(mark));
                if let Some(mark) = mark
                    && !before.starts_with(mark.trim_end())
                {
                    comments += 1;
                    let first = line[mark.len()..].split(' ').next().unwrap_or_default();
                    if QUESTIONS.contains(&first) {
                        found.push(format!("{}:{}: {line}", path.display(), number + 1));
                    }
                }
                before = line;
            }
        }
    }
    comments
}

#[test]
fn doc_comments_open_with_a_noun_phrase_or_a_verb() {
    let mut found = Vec::new();
    let mut comments = 0;
    for name in crate::plan::CRATES {
        comments += questions(&super::root().join(name).join("src"), &mut found);
    }
    assert!(comments > 3_000, "only {comments} doc comments were found");
    let found = found.join("\n");
    assert!(found.is_empty(), "start these with a noun or a verb, as std does:\n{found}");
}
