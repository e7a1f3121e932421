//! Text for a terminal: sanitized, cut to a width, counted.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use retry_workflow::job::Unit;
use retry_workflow::sanitize::{Lines, OneLine, steers};
pub(crate) use retry_workflow::words::{
    age, argument, chain, count, duration, moment, percent, thousands,
};

/// On one line: control characters, including newlines and tabs, are escaped.
pub(crate) fn one_line(text: &str) -> String {
    OneLine(text).to_string()
}

/// Newlines are kept; every other control character is escaped.
pub(crate) fn lines(text: &str) -> String {
    Lines(text).to_string()
}

/// The same JSON without characters that control a terminal, some of which `serde_json` does not
/// escape. They only occur inside strings, where JSON can escape them.
pub(crate) fn json(text: &str) -> String {
    json_escaped(text, steers)
}

/// The same JSON with some characters of its strings as `\uXXXX`.
pub(crate) fn json_escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The width in terminal columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cut to this many columns, with `…` at the end, if it is wider.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used: usize = 1;
    for c in text.chars() {
        used = used.saturating_add(c.width().unwrap_or(0));
        if used > most {
            break;
        }
        shown.push(c);
    }
    if most > 0 {
        shown.push('…');
    }
    shown
}

/// Returns how many have failed for good: `3 dead letters`, or `3 failed` if they are not items.
pub(crate) fn failed(number: u64, unit: Unit) -> String {
    match unit {
        Unit::Item => count(number, "dead letter"),
        _ => format!("{} failed", thousands(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_has_the_same_value() {
        let hostile = "a\u{9b}31m\u{202e}\u{e0041}\u{7f}\n";
        let safe = json(&serde_json::to_string(hostile).unwrap());
        assert_eq!(safe, r#""a\u009b31m\u202e\udb40\udc41\u007f\n""#);
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), hostile);
    }

    #[test]
    fn suggested_arguments_are_quoted_if_necessary() {
        assert_eq!(argument("import-1/reduce-1"), "import-1/reduce-1");
        assert_eq!(argument("my job; rm -rf ~"), "'my job; rm -rf ~'");
        assert_eq!(argument("Ada's"), r"'Ada'\''s'");
        assert_eq!(argument(""), "''");
    }

    #[test]
    fn wide_characters_count_as_two_columns() {
        assert_eq!(width("日本"), 4);
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("abcd", 0), "");
    }
}
