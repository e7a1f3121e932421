//! [`Environment`]: the variables that a file sets for all its commands, and which of them are
//! secret.

use std::ffi::OsString;
use std::sync::Arc;

use crate::steps::mask::Masks;
use crate::template::shell::variables::is_name;

/// The variables that a file sets for all its commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// If a name occurs twice, the later value wins.
    pub(crate) variables: Vec<(String, OsString)>,
    pub(crate) masks: Arc<Masks>,
}

/// Parses a file such as `.env`: lines of `NAME=value`, quoted or not, optionally after `export`;
/// comments and empty lines are skipped. Nothing is expanded.
///
/// # Errors
/// The number of an invalid line, from 1, and what is wrong with it.
pub(crate) fn parse_env_file(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let wrong = |why: &str| (index + 1, why.to_owned());
        let Some((name, value)) = line.split_once('=') else {
            return Err(wrong("this is not `NAME=value`"));
        };
        let name = name.trim();
        if !is_name(name) {
            return Err(wrong(
                "the name before `=` is not a valid name of a variable: use letters, digits and \
                 `_`",
            ));
        }
        let value = unquoted(value.trim()).ok_or_else(|| wrong("a quotation is not closed"))?;
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

fn unquoted(value: &str) -> Option<String> {
    if let Some(inner) = value.strip_prefix('\'') {
        return inner.split_once('\'').map(|(inner, _)| inner.to_owned());
    }
    let Some(inner) = value.strip_prefix('"') else {
        // A comment begins after a blank.
        let end = value.find(" #").unwrap_or(value.len());
        return Some(value[..end].trim_end().to_owned());
    };
    let mut text = String::new();
    let mut chars = inner.chars();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                c @ ('"' | '\\' | '$' | '`') => text.push(c),
                other => text.extend(['\\', other]),
            },
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_an_env_file_are_read_as_they_are_written() {
        let text = "# keys\nA=1\nexport B = two words # none\n\nC='$x # y'\nD=\"a\\n\\\"b\\\"\\$\" # c\nE=\n";
        let read = parse_env_file(text).unwrap();
        let read: Vec<_> =
            read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected =
            [("A", "1"), ("B", "two words"), ("C", "$x # y"), ("D", "a\n\"b\"$"), ("E", "")];
        assert_eq!(read, expected);
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        for (text, line) in [("A=1\nB", 2), ("1A=x", 1), ("A='x", 1), ("\n\nA=\"x", 3), ("=x", 1)] {
            assert_eq!(parse_env_file(text).unwrap_err().0, line, "{text}");
        }
    }
}
