//! The code that a message proposes.

use std::collections::HashSet;

/// The words before the code of a proposal in a message of the compiler.
pub const IN_CODE: &[&str] = &["write `", "did you mean `", "as in `"];

/// The words before the code of a proposal in a message about a file or an argument, where an example
/// of a value is a value.
pub const IN_FILES: &[&str] =
    &["write `", "write the number `", "did you mean `", "as in `", "such as `", "add `"];

/// Returns the proposals of a message, each in one or more pieces of code: "write `a` and `b`". The
/// alternatives in "`a` for seconds, or `b`" are two proposals.
pub fn proposals(message: &str, introductions: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let starts = introductions
        .iter()
        .flat_map(|words| message.match_indices(words).map(|(at, words)| at + words.len()));
    for start in starts {
        let mut pieces = Vec::new();
        let mut rest = &message[start..];
        while let Some((code, after)) = rest.split_once('`') {
            pieces.push(code.to_owned());
            let Some((between, next)) = after.split_once('`') else { break };
            let is_one_clause = between.len() <= 40 && !between.contains([':', ';', '(', '\n']);
            if is_one_clause && (between.ends_with(" or ") || between == ", ") {
                found.push(std::mem::take(&mut pieces));
            } else if between != " and " {
                break;
            }
            rest = next;
        }
        found.push(pieces);
    }
    let mut seen = HashSet::new();
    found.retain(|pieces| !pieces.is_empty() && seen.insert(pieces.clone()));
    // An example with a gap is an outline.
    let is_outline =
        |piece: &String| piece.contains('…') && message.contains(&format!("as in `{piece}`"));
    found.retain(|pieces| !pieces.iter().any(is_outline));
    found
}
