//! The wait that a field or a text of JSON states in the body of a failed response.
//!
//! The body may be cut anywhere, so it is scanned for keys and values instead of being parsed.

use core::time::Duration;
use std::time::SystemTime;

use super::retry_after::{millis, parse};
use crate::base::clock;
use crate::base::hint::Hint;
use crate::base::text::wait_in_text::wait_in_text;

/// The keys of objects that may contain a wait, besides the outermost one.
const AROUND: [&str; 4] = ["error", "parameters", "details", "errors"];

/// Returns the first wait above zero that a field of the body states, or else a text in it: at the
/// top, or in an object or a list of [`AROUND`].
pub(super) fn wait_in_body(body: &str) -> Option<Hint> {
    let now = clock::wall();
    let first = |read: &dyn Fn(&str, &str) -> Option<Duration>| {
        let mut scanner = Scanner { rest: body, key: "", around: Vec::new() };
        let mut fields = core::iter::from_fn(|| scanner.next_field());
        fields.find_map(|(key, value)| read(key, value).filter(|wait| !wait.is_zero()))
    };
    let stated = first(&|key, value| wait_of(key, value, now)).map(Hint::Wait);
    stated.or_else(|| first(&wait_of_text).map(Hint::InText))
}

/// The wait that a field states.
fn wait_of(key: &str, value: &str, now: SystemTime) -> Option<Duration> {
    match key {
        "retry_after_ms" | "retryAfterMs" => millis(value.trim(), now),
        "retry_after" | "retryAfter" | "retry_after_seconds" | "retryDelay" => parse(value, now),
        _ => None,
    }
}

/// The wait that the text of a field states, where a line break is an escape.
fn wait_of_text(key: &str, value: &str) -> Option<Duration> {
    let is_text = matches!(key, "message" | "detail" | "error");
    is_text.then(|| wait_in_text(&value.replace("\\n", "\n")))?
}

/// Reads the fields of JSON that may be cut.
struct Scanner<'a> {
    rest: &'a str,
    /// The key of the value that follows.
    key: &'a str,
    /// For each open object and list: set if it is a list, and if its fields count.
    around: Vec<(bool, bool)>,
}

impl<'a> Scanner<'a> {
    /// Returns the next field whose value is a text or a number, and which may state a wait.
    fn next_field(&mut self) -> Option<(&'a str, &'a str)> {
        loop {
            let value = self.next_value()?;
            if self.around.last() == Some(&(false, true)) {
                return Some((self.key, value));
            }
        }
    }

    /// Returns the next value that is a text or a number, or `None` at the end.
    fn next_value(&mut self) -> Option<&'a str> {
        loop {
            let first = self.rest.chars().next()?;
            let is_number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
            match first {
                '"' => {
                    let text = self.text()?;
                    match self.rest.trim_start().strip_prefix(':') {
                        Some(rest) => (self.key, self.rest) = (text, rest),
                        None => return Some(text),
                    }
                }
                _ if is_number(first) => {
                    // A number at the cut may be incomplete: `3` of `30`.
                    let end = self.rest.find(|c| !is_number(c))?;
                    return Some(self.skip(end));
                }
                '{' | '[' => {
                    let counts = match self.around.last() {
                        None => true,
                        // An entry has no key of its own.
                        Some((true, counts)) => *counts,
                        Some((false, counts)) => *counts && AROUND.contains(&self.key),
                    };
                    self.around.push((first == '[', counts));
                    self.skip(1);
                }
                _ => {
                    if matches!(first, '}' | ']') {
                        self.around.pop();
                    }
                    self.skip(first.len_utf8());
                }
            }
        }
    }

    /// Skips a text in quotes, and returns what is in it, or `None` if it does not end.
    fn text(&mut self) -> Option<&'a str> {
        let mut is_escaped = false;
        let end = self.rest[1..].find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        })?;
        let quoted = self.skip(end + 2);
        Some(&quoted[1..=end])
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODIES: [(&str, Option<u64>); 15] = [
        (
            r#"{"message": "You are being rate limited.", "retry_after": 64.57, "global": false}"#,
            Some(64_570),
        ),
        (r#"{"ok":false,"error_code":429,"parameters":{"retry_after":5}}"#, Some(5_000)),
        (
            r#"{"error":{"code":429,"details":[{"@type":"a"},{"@type":"RetryInfo","retryDelay":"37s"}]}}"#,
            Some(37_000),
        ),
        (r#"{"error":{"retry_after_ms":1500,"type":"x"}}"#, Some(1_500)),
        (r#"{"retryAfterMs":"250"}"#, Some(250)),
        (r#"{"errors":[{"retry_after_seconds":"0.5"}]}"#, Some(500)),
        (r#"{"retryAfter": 0, "error": {"retry_after": 7}}"#, Some(7_000)),
        (r#"[{"retry_after": 7}]"#, Some(7_000)),
        (r#"{"settings": {"retry_after": 7}}"#, None),
        (r#"{"message": "\"retry_after\": 7"}"#, None),
        (r#"{"retry_after": {"seconds": 7}}"#, None),
        (r#"{"retry_after": -1, "retry_after_ms": null}"#, None),
        ("retry_after: 7", None),
        (r#""retry_after": 7"#, None),
        ("", None),
    ];

    #[test]
    fn the_first_field_with_a_wait_counts() {
        for (body, millis) in BODIES {
            let wait = millis.map(|millis| Hint::Wait(Duration::from_millis(millis)));
            assert_eq!(wait_in_body(body), wait, "{body}");
        }
    }

    #[test]
    fn a_message_states_a_wait_if_no_field_does() {
        let text = |seconds| Some(Hint::InText(Duration::from_secs(seconds)));
        for (body, hint) in [
            (r#"{"message": "Please try again in 8s."}"#, text(8)),
            (r#"{"error": {"message": "Slow down.\nretry after 8 seconds"}}"#, text(8)),
            (r#"{"detail": "wait 8 seconds"}"#, text(8)),
            (r#"{"error": "Too many requests, try again in 8s"}"#, text(8)),
            (r#"{"error": {"error": "try again in 8s", "code": 429}}"#, text(8)),
            (r#"{"error": "busy", "message": "try again in 8s"}"#, text(8)),
            (r#"{"errors": [{"detail": "later"}, {"detail": "wait 8 seconds"}]}"#, text(8)),
            (r#"{"message": "wait 8s", "detail": "wait 9s"}"#, text(8)),
            (
                r#"{"message": "try again in 8s", "details": [{"retryDelay": "9s"}]}"#,
                Some(Hint::Wait(Duration::from_secs(9))),
            ),
            (r#"{"message": "try again in 8s", "retry_after": 0}"#, text(8)),
            (r#"{"message": "try again in 8s", "retry_after": "soon"}"#, text(8)),
            (r#"{"prompt": "try again in 8s"}"#, None),
            (r#"{"input": {"message": "try again in 8s"}}"#, None),
            (r#"{"message": "try again in 8s"#, None),
            ("try again in 8s", None),
        ] {
            assert_eq!(wait_in_body(body), hint, "{body}");
        }
    }

    #[test]
    fn a_cut_body_states_its_wait_or_none() {
        for (body, _) in BODIES {
            let whole = wait_in_body(body);
            for (end, _) in body.char_indices() {
                let cut = wait_in_body(&body[..end]);
                assert!(cut.is_none() || cut == whole, "{cut:?} of {}", &body[..end]);
            }
        }
    }

    #[test]
    fn any_text_is_scanned_to_its_end() {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            ":",
            ",",
            " ",
            "é",
            "7",
            "1e9",
            "retry_after",
            "error",
            "null",
        ];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut body = String::new();
            for _ in 0..24 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                body.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            let _ = wait_in_body(&body);
        }
    }
}
