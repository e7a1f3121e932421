//! [`PathPart`]: paths into the value of an item or of a captured output.

use serde_json::Value;

/// A segment of a path into an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    Key(String),
    Index(usize),
}

/// Parses `.path.to[0].field`.
pub fn path(mut rest: &str) -> Option<Vec<PathPart>> {
    let mut path = Vec::new();
    while !rest.is_empty() {
        if let Some(key) = rest.strip_prefix('.') {
            let end = key.find(['.', '[']).unwrap_or(key.len());
            let name = &key[..end];
            if name.is_empty()
                || name.contains(|c: char| c.is_whitespace() || ":%#/'\"\\$`]{".contains(c))
            {
                return None;
            }
            path.push(PathPart::Key(name.to_owned()));
            rest = &key[end..];
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            path.push(PathPart::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(path)
}

/// Parses the path of a condition or of `sort_by`: `score`, `owner.id`, `item.score`, or `item` for
/// the whole item.
pub fn item_path(name: &str) -> Option<Vec<PathPart>> {
    let below =
        name.strip_prefix("item").filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    match below {
        Some(rest) => path(rest),
        None => path(&format!(".{name}")),
    }
}

/// Returns whether a placeholder can refer to this key of an item.
pub fn is_key(key: &str) -> bool {
    path(&format!(".{key}")).is_some_and(|path| path == [PathPart::Key(key.to_owned())])
}

/// The value at this path.
pub fn at<'a>(item: &'a Value, path: &[PathPart]) -> Option<&'a Value> {
    path.iter().try_fold(item, |value, part| match part {
        PathPart::Key(key) => value.get(key),
        PathPart::Index(index) => value.get(index),
    })
}
