//! [`Masks`]: secrets, and removing them from texts.
//!
//! Whatever is shown or stored is masked before it is cut, because half a secret is a secret, too.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::terminal::text::json_escaped;

/// Replaces a secret.
const MASK: &str = "***";

/// A shorter secret would match everywhere.
pub(crate) const SHORTEST: usize = 4;

/// The characters that RFC 3986 leaves unencoded in any part of a URL, as curl, jq and Python do.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The characters that JavaScript's `encodeURIComponent` leaves unencoded.
const OF_BROWSERS: AsciiSet =
    UNRESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');

/// The values to hide, each as it is and in the forms in which programs put it into a URL or JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Masks(Vec<String>);

impl Masks {
    /// Ignores secrets shorter than [`SHORTEST`], which have been rejected before.
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST);
        Self(long.flat_map(|secret| forms(&secret)).collect())
    }

    /// Returns how many more bytes to read than are kept, so that no secret is cut in half.
    pub(crate) fn margin(&self) -> usize {
        self.0.iter().map(String::len).max().unwrap_or(0)
    }

    /// Returns whether a text contains a secret.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// Returns whether any text in a value contains a secret in its unescaped form.
    pub(crate) fn has_secret(&self, value: &Value) -> bool {
        match value {
            Value::Array(list) => list.iter().any(|value| self.has_secret(value)),
            Value::Object(map) => {
                map.iter().any(|(key, value)| self.is_in(key) || self.has_secret(value))
            }
            Value::String(text) => self.is_in(text),
            other => self.is_in(&other.to_string()),
        }
    }

    pub(crate) fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.part(text, 0..text.len())
    }

    /// This part of the text, masked. A secret that crosses its boundary is left out.
    pub(crate) fn part<'a>(&self, text: &'a str, part: Range<usize>) -> Cow<'a, str> {
        let boundary = |at: usize| {
            (at.min(text.len())..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(0)
        };
        let (mut at, end) = (boundary(part.start), boundary(part.end));
        let mut masked = String::new();
        for span in self.spans(text) {
            if span.end <= at || span.start >= end {
                continue;
            }
            masked.push_str(text.get(at..span.start).unwrap_or_default());
            masked.push_str(MASK);
            at = span.end;
        }
        if masked.is_empty() {
            return Cow::Borrowed(text.get(at..end.max(at)).unwrap_or_default());
        }
        masked.push_str(text.get(at..end).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// Returns where to cut a text: at most at `longest`, but not inside a secret or a character.
    pub(crate) fn cut(&self, text: &str, longest: usize) -> usize {
        if text.len() <= longest {
            return text.len();
        }
        let through = |span: &Range<usize>| span.start < longest && span.end > longest;
        let at = self.spans(text).into_iter().find(through).map_or(longest, |span| span.start);
        (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
    }

    /// The spans of secrets; overlapping ones are merged.
    fn spans(&self, text: impl AsRef<[u8]>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for secret in &self.0 {
            let windows = text.as_ref().windows(secret.len()).enumerate();
            let same = windows.filter(|(_, window)| *window == secret.as_bytes());
            found.extend(same.map(|(start, _)| start..start + secret.len()));
        }
        found.sort_by_key(|span| span.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for span in found {
            match merged.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }
}

/// A secret as it is, URL-encoded and JSON-escaped, in the ways in which that is done.
fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    for set in [&UNRESERVED, &OF_BROWSERS] {
        let encoded = utf8_percent_encode(secret, set).to_string();
        let lower = lower_hex(&encoded);
        forms.extend([encoded.replace("%20", "+"), lower.replace("%20", "+"), encoded, lower]);
    }
    let quoted = Value::from(secret).to_string();
    let escaped = &quoted[1..quoted.len() - 1];
    // As Python writes it.
    let ascii = json_escaped(escaped, |c| !c.is_ascii());
    forms.extend([escaped.replace('/', "\\/"), ascii.replace('/', "\\/"), ascii]);
    forms.insert(escaped.to_owned());
    forms
}

/// The same percent-encoded text with its hexadecimal digits in lower case.
fn lower_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2.min(part.len()));
        let _infallible = write!(lower, "%{}{rest}", digits.to_ascii_lowercase());
    }
    lower
}

/// Masks a stream: what may be the beginning of a secret is held back.
#[derive(Debug)]
pub(crate) struct Masking {
    masks: Masks,
    held: Vec<u8>,
    /// The number of held bytes that belong to a secret that has been masked already.
    masked: usize,
}

impl Masking {
    pub(crate) fn new(masks: &Masks) -> Self {
        Self { masks: masks.clone(), held: Vec::new(), masked: 0 }
    }

    /// Returns the part that can be shown so far.
    pub(crate) fn take(&mut self, part: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(part);
        let begins_one = |from: &usize| {
            let rest = &self.held[*from..];
            let mut secrets = self.masks.0.iter().map(String::as_bytes);
            secrets.any(|secret| secret.len() > rest.len() && secret.starts_with(rest))
        };
        let longest = self.masks.margin();
        let whole = self.held.len();
        let end = (whole.saturating_sub(longest)..whole).find(begins_one).unwrap_or(whole);
        self.release(end)
    }

    /// The rest, at the end of the stream.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.release(self.held.len())
    }

    /// Everything that begins before `end`; secrets in it are complete.
    fn release(&mut self, end: usize) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut at = self.masked;
        for span in self.masks.spans(&self.held) {
            if span.start >= end {
                break;
            }
            // A secret that overlaps the previous one is covered by the same mask.
            if span.start >= at {
                if let Some(before) = self.held.get(at..span.start) {
                    shown.extend_from_slice(before);
                }
                shown.extend_from_slice(MASK.as_bytes());
            }
            at = at.max(span.end);
        }
        shown.extend_from_slice(self.held.get(at..end).unwrap_or_default());
        self.held.drain(..end);
        self.masked = at.saturating_sub(end);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(secrets: &[&str]) -> Masks {
        Masks::new(secrets.iter().map(|&secret| secret.to_owned()))
    }

    #[test]
    fn each_secret_is_masked_wherever_it_stands() {
        let masks = masks(&["geheim", "heimlich", "aaaa"]);
        assert_eq!(masks.masked("x geheim y"), "x *** y");
        assert_eq!(masks.masked("geheimlich"), "***", "they overlap");
        assert_eq!(masks.masked("aaaaaa!"), "***!", "one overlaps itself");
        assert_eq!(masks.masked("nothing"), "nothing");
    }

    #[test]
    fn a_secret_is_masked_in_urls_and_in_json() {
        let masks = masks(&["p/w d\"ö*"]);
        for form in [
            "p/w d\"ö*",
            "p%2Fw%20d%22%C3%B6%2A",
            "p%2fw%20d%22%c3%b6%2a",
            "p%2Fw+d%22%C3%B6%2A",
            "p%2Fw%20d%22%C3%B6*",
            r#"p/w d\"ö*"#,
            r#"p\/w d\"ö*"#,
            r#"p/w d\"\u00f6*"#,
        ] {
            assert_eq!(masks.masked(&format!("<{form}>")), "<***>", "{form}");
            assert!(masks.is_in(form), "{form}");
        }
        assert_eq!(forms("only-letters_1"), BTreeSet::from(["only-letters_1".to_owned()]));
    }

    #[test]
    fn text_in_parts_is_masked_like_the_whole_text() {
        let masks = masks(&["geheim", "heimlich", "aaaa"]);
        for text in ["x geheim y", "geheimlich", "gegeheimli", "aaaaaaaaa!", "geheimgeheim", "äö"]
        {
            let whole = masks.masked(text).into_owned();
            for first in 0..=text.len() {
                for second in first..=text.len() {
                    let mut masking = Masking::new(&masks);
                    let bytes = text.as_bytes();
                    let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let mut shown: Vec<u8> = parts.iter().flat_map(|it| masking.take(it)).collect();
                    shown.extend(masking.finish());
                    assert_eq!(String::from_utf8(shown).unwrap(), whole, "{first}, {second}");
                }
            }
        }
    }

    #[test]
    fn truncation_leaves_no_part_of_a_secret() {
        let text = "ab geheim cd";
        for start in 0..=text.len() {
            for end in start..=text.len() {
                let part = masks(&["geheim"]).part(text, start..end).into_owned();
                let left = part.replace("***", "");
                assert!(!left.contains(['g', 'e', 'h', 'i', 'm']), "{start}..{end}: {part}");
            }
        }
    }
}
