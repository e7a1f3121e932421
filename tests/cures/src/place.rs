//! The place in a file at which a proposal is applied.

use std::ops::Range;

/// The macros that take settings.
const MACROS: [&str; 3] = ["retry", "policy!", "retrying!"];

/// Returns the tokens to replace, and their replacement; nothing for an item.
pub fn edit(source: &str, at: usize, length: usize, code: &str) -> Option<(Range<usize>, String)> {
    let word = leading_word(code);
    if ["static", "use", "impl"].contains(&word) {
        return None;
    }
    if code.starts_with("#[") {
        // In place of the attribute around it, or above an item.
        let open = groups(source, at).into_iter().rfind(|open| source[..*open].ends_with('#'));
        let range = open.map(|open| open - 1..open + 1 + source[open..].find(']').unwrap_or(0));
        return Some((range.unwrap_or(at..at), format!("{code} ")));
    }
    let is_setting = code[word.len()..].starts_with(" = ")
        || code[word.len()..].starts_with('(')
            && ["breaker", "carry", "clone", "hedge"].contains(&word);
    let groups = groups(source, at);
    let is_macro = |open: &usize| MACROS.iter().any(|name| source[..*open].ends_with(name));
    let options = groups.iter().rposition(is_macro);
    if !is_setting || word.is_empty() {
        return Some((at..at + length, code.to_owned()));
    }
    let Some(options) = options else {
        // Of the function, in its attribute.
        let attribute = source[..at].rfind("#[retry")? + "#[retry".len();
        return Some(if source[attribute..].starts_with('(') {
            (attribute + 1..attribute + 1, format!("{code}, "))
        } else {
            (attribute..attribute, format!("({code})"))
        });
    };
    let inside = groups[options..].iter().filter(|open| source[**open..].starts_with('('));
    let inside: Vec<_> = inside.map(|open| elements(source, *open)).collect();
    let same =
        inside.iter().rev().flatten().find(|part| leading_word(&source[(*part).clone()]) == word);
    if let Some(same) = same {
        return Some((same.clone(), code.to_owned()));
    }
    let here = inside.last()?.iter().find(|part| part.start <= at && at < part.end)?;
    Some(match here.start == at {
        true => (here.clone(), code.to_owned()),
        false => (here.end..here.end, format!(", {code}")),
    })
}

fn leading_word(code: &str) -> &str {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    &code[..end]
}

/// The brackets around a place, from the outside in.
fn groups(source: &str, place: usize) -> Vec<usize> {
    let mut open = Vec::new();
    for (at, mark) in marks(source, 0).take_while(|(at, _)| *at < place) {
        match mark {
            '(' | '[' | '{' => open.push(at),
            ')' | ']' | '}' => drop(open.pop()),
            _ => {}
        }
    }
    open
}

/// The parts of a group that commas separate.
fn elements(source: &str, open: usize) -> Vec<Range<usize>> {
    let (mut parts, mut depth, mut is_closure, mut start) = (Vec::new(), 0, false, open + 1);
    for (at, mark) in marks(source, open) {
        match mark {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '|' if depth == 1 => is_closure = !is_closure,
            _ => {}
        }
        if depth == 0 || depth == 1 && mark == ',' && !is_closure {
            let text = &source[start..at];
            let first = start + text.len() - text.trim_start().len();
            parts.push(first..start + text.trim_end().len());
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    parts.retain(|part| part.start < part.end);
    parts
}

/// The characters from here on that are not in strings or comments.
fn marks(source: &str, from: usize) -> impl Iterator<Item = (usize, char)> {
    let (mut in_text, mut in_comment, mut last) = (false, false, ' ');
    source[from..].char_indices().filter_map(move |(at, mark)| {
        let before = std::mem::replace(&mut last, mark);
        match mark {
            '\n' => in_comment = false,
            '/' if before == '/' && !in_text => in_comment = true,
            '"' if !in_comment && before != '\\' => in_text = !in_text,
            _ if !in_text && !in_comment => return Some((from + at, mark)),
            _ => {}
        }
        None
    })
}
