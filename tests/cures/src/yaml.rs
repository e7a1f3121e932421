//! The place in a YAML file at which a proposal is applied.

use std::ops::Range;

/// An edit of a text: the bytes to replace, and their replacement.
pub type Edit = (Range<usize>, String);

/// A key with its value.
struct Entry {
    key: Range<usize>,
    value: Range<usize>,
    is_in_brackets: bool,
}

/// The place for a setting whose key is not yet in the map.
#[derive(Clone, Copy, PartialEq)]
pub enum Position {
    /// In place of the setting that the message is about.
    There,
    /// Beside the setting that the message is about.
    Beside,
    /// Beside a key that the message points to, and in place of a value and its key.
    ByMark,
}

/// Returns the edit that a person makes who reads `code` in a message about the text at `at`, of
/// which `length` bytes are marked.
///
/// A setting (`key: value`) takes the place of the setting with its key in the same map, or else is
/// written at this `position`. Anything else takes the place of the key, the value or the part of it
/// that is marked.
pub fn edit(text: &str, at: usize, length: usize, code: &str, position: Position) -> Option<Edit> {
    let marked = at..token_end(text, at, length);
    let is_key = key_ends_at(text, marked.end);
    let Some(key) = key_of(code) else {
        if text[at..].starts_with(':') {
            // Nothing is written after this key.
            return Some((at..at + 1, format!(": {code}")));
        }
        // Whatever is no word is a value.
        let range =
            if is_key && !code.chars().all(is_word) { entry(text, at)?.value } else { marked };
        return Some((range, code.to_owned()));
    };
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let first = line + text[line..].find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
    if position == Position::ByMark && first < at && text[first..].starts_with(&format!("{key}: "))
    {
        // The rest of the line is no value.
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        return Some((first..end, code.to_owned()));
    }
    let entry = if is_key { Some(entry(text, at)?) } else { entry_of_value(text, at) };
    // An element of a list, or a map as a whole.
    let Some(entry) = entry else { return Some((marked, code.to_owned())) };
    let code = code.replace('…', &text[entry.value.clone()]);
    if &text[entry.key.clone()] != key {
        if let Some(same) = sibling(text, &entry, key).or_else(|| inside(text, &entry, key)) {
            return Some((same.key.start..same.value.end, code));
        }
        if position == Position::Beside || position == Position::ByMark && is_key {
            let start = entry.key.start;
            let indent = " ".repeat(column(text, start));
            let separator =
                if entry.is_in_brackets { ", ".to_owned() } else { format!("\n{indent}") };
            return Some((start..start, format!("{code}{separator}")));
        }
    }
    Some((entry.key.start..entry.value.end, code))
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the key of a setting.
fn key_of(code: &str) -> Option<&str> {
    let end = code.find(|c| !is_word(c))?;
    let is_setting = [": ", " = "].iter().any(|sign| code[end..].starts_with(sign));
    (end > 0 && is_setting).then_some(&code[..end])
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns the end of the marked text; of a list or a map, only the bracket is marked.
fn token_end(text: &str, at: usize, length: usize) -> usize {
    match text[at..].chars().next() {
        Some('[' | '{') if length <= 1 => group_end(text, at),
        // A mark that a message does not have a length for.
        _ if length == 0 => {
            let word = text[at..].find(|c: char| !is_word(c)).map_or(text.len(), |end| at + end);
            if key_ends_at(text, word) { word } else { value_end(text, at, at) }
        }
        _ => at + length,
    }
}

fn key_ends_at(text: &str, end: usize) -> bool {
    let rest = text[end..].trim_start_matches(' ');
    rest.starts_with(": ")
        || rest.starts_with(":\n")
        || rest.starts_with(" =")
        || rest.starts_with("= ")
}

/// Returns the entry whose key begins here.
fn entry(text: &str, start: usize) -> Option<Entry> {
    let end = start + text[start..].find([':', '='])?;
    let value = end + 1;
    let value = value + text[value..].find(|c| c != ' ').unwrap_or(0);
    let key = start..start + text[start..end].trim_end().len();
    Some(Entry {
        key,
        value: value..value_end(text, value, start),
        is_in_brackets: depth(text, start) > 0,
    })
}

/// Returns the entry whose value begins here.
fn entry_of_value(text: &str, at: usize) -> Option<Entry> {
    let before = text[..at].trim_end_matches(' ').strip_suffix([':', '='])?.trim_end();
    let start = before.rfind(|c| !is_word(c)).map_or(0, |end| end + 1);
    entry(text, start)
}

/// Returns the entry with this key in the same map.
fn sibling(text: &str, beside: &Entry, key: &str) -> Option<Entry> {
    let start = beside.key.start;
    let in_same_map = |at: &usize| {
        let is_whole = text[..*at].chars().next_back().is_none_or(|c| !is_word(c));
        let mut lines = text[*at.min(&start)..*at.max(&start)].split('\n').skip(1);
        is_whole
            && key_ends_at(text, at + key.len())
            && depth(text, *at) == depth(text, start)
            && if beside.is_in_brackets {
                lines.next().is_none()
            } else {
                let indent = |line: &str| line.len() - line.trim_start().len();
                column(text, *at) == column(text, start)
                    && lines.all(|line| indent(line) >= column(text, start))
            }
    };
    let starts = text.match_indices(key).map(|(at, _)| at).filter(in_same_map);
    entry(text, starts.min_by_key(|at| at.abs_diff(start))?)
}

/// Returns the entry with this key in the value of another one.
fn inside(text: &str, around: &Entry, key: &str) -> Option<Entry> {
    let value = &text[around.value.clone()];
    let mut starts = value.match_indices(key).map(|(at, _)| around.value.start + at);
    entry(text, starts.find(|at| key_ends_at(text, at + key.len()))?)
}

/// Returns whether a key is marked.
pub fn marks_key(text: &str, at: usize) -> bool {
    key_ends_at(text, token_end(text, at, 0))
}

/// Returns the end of a value whose key begins at `key`.
fn value_end(text: &str, start: usize, key: usize) -> usize {
    let rest = &text[start..];
    match rest.chars().next() {
        None => start,
        Some('[' | '{') => group_end(text, start),
        Some(quote @ ('"' | '\'')) => quoted_end(text, start, quote),
        Some('\n' | '|' | '>') => block_end(text, start, key),
        _ => {
            let line = rest.find('\n').unwrap_or(rest.len());
            let line = rest[..line].find(" #").unwrap_or(line);
            let is_end = |c: char| depth(text, start) > 0 && matches!(c, ',' | ']' | '}');
            let end = rest[..line].find(is_end).unwrap_or(line);
            start + rest[..end].trim_end().len()
        }
    }
}

/// Returns the end of a block: the lines below its key that are further in, or list its elements.
fn block_end(text: &str, start: usize, key: usize) -> usize {
    let column = column(text, key);
    let mut end = start + text[start..].find('\n').unwrap_or(text.len() - start);
    while let Some(rest) = text[end..].strip_prefix('\n') {
        let line = rest.lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let belongs = indent > column || indent == column && line.trim_start().starts_with("- ");
        if line.is_empty() || !belongs {
            break;
        }
        end += 1 + line.len();
    }
    end
}

fn quoted_end(text: &str, start: usize, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text[start + 1..].char_indices() {
        let end = start + 1 + at;
        match c {
            '\\' if quote == '"' => is_escaped = !is_escaped,
            c if c == quote && !is_escaped => return end + 1,
            _ => is_escaped = false,
        }
    }
    text.len()
}

fn group_end(text: &str, start: usize) -> usize {
    let mut open = 0_usize;
    for (at, c) in brackets(text, start) {
        match c {
            '[' | '{' => open += 1,
            _ => open = open.saturating_sub(1),
        }
        if open == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Returns the number of brackets that are open at this place.
fn depth(text: &str, at: usize) -> usize {
    brackets(text, 0).take_while(|(bracket, _)| *bracket < at).fold(0, |open, (_, c)| match c {
        '[' | '{' => open + 1,
        _ => open.saturating_sub(1),
    })
}

/// The brackets from here on that are neither in quotes nor in a plain text.
fn brackets(text: &str, from: usize) -> impl Iterator<Item = (usize, char)> {
    let (mut skip_to, mut before) = (from, '\n');
    text[from..].char_indices().filter_map(move |(at, c)| {
        let at = from + at;
        if at < skip_to {
            return None;
        }
        let is_start = matches!(before, '\n' | ':' | ',' | '[' | '{' | '-' | '=');
        match c {
            '"' | '\'' if is_start => skip_to = quoted_end(text, at, c),
            '$' if text[at..].starts_with("${") => {
                skip_to = text[at..].find('}').map_or(text.len(), |end| at + end + 1);
            }
            '#' if matches!(before, '\n') => {
                skip_to = text[at..].find('\n').map_or(text.len(), |end| at + end);
            }
            '[' | '{' | ']' | '}' => {
                before = c;
                return Some((at, c));
            }
            _ => {}
        }
        if c != ' ' {
            before = c;
        }
        None
    })
}
