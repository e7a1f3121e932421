//! Splits a text into words: identifiers are taken apart, addresses left out.

/// Longer than any error message; an HTML page names its status near the top.
pub(super) const LONGEST_TEXT: usize = 16 * 1024;

/// A word, or one part of an identifier.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Word<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_in(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// The words of a text, and what lies between them.
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    pub(super) list: Vec<Word<'a>>,
}

impl<'a> Words<'a> {
    /// Splits the text, up to [`LONGEST_TEXT`].
    pub(super) fn split(text: &'a str) -> Self {
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];

        let mut list = Vec::new();
        let mut at = 0;
        while let Some(skipped) = text[at..].find(is_word_char) {
            let start = at + skipped;
            if let Some(end) = address_end(text, start) {
                at = end;
                continue;
            }
            let run = &text[start..];
            let end = start + run.find(|c| !is_word_char(c)).unwrap_or(run.len());
            split_identifier(text, start, end, &mut list);
            at = end;
        }
        Self { text, list }
    }

    /// The text between this word and the one before it.
    pub(super) fn glue(&self, at: usize) -> &'a str {
        let before = if at == 0 { 0 } else { self.list[at - 1].end };
        self.list.get(at).map_or("", |word| &self.text[before..word.start])
    }

    /// Whether this word follows the one before it in the same sentence.
    pub(super) fn is_close(&self, at: usize) -> bool {
        self.glue(at)
            .chars()
            .all(|c| c.is_whitespace() || matches!(c, '-' | '_' | '"' | '\'' | '`'))
    }

    /// Whether this word and the one before it are parts of one identifier.
    pub(super) fn is_joined(&self, at: usize) -> bool {
        at > 0 && at < self.list.len() && matches!(self.glue(at), "" | "_")
    }
}

pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the address that begins at `start`; `None` if none begins there.
fn address_end(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start..];
    let scheme = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-')));
    let has_scheme = scheme.is_some_and(|end| rest[end..].starts_with("://"));
    let is_path = text[..start].strip_suffix('/').is_some_and(|before| {
        before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || "\"'`(<".contains(c))
    });
    // A closing tag is not a path.
    let is_tag = text[..start].ends_with("</");
    if !has_scheme && (!is_path || is_tag) {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '>' | '"' | '\'' | '`' | '<');
    Some(start + rest.find(ends).unwrap_or(rest.len()))
}

/// `ERR_TIMED_OUT` → ERR TIMED OUT, `HTTPServerError` → HTTP Server Error.
fn split_identifier<'a>(text: &'a str, start: usize, end: usize, list: &mut Vec<Word<'a>>) {
    let bytes = text.as_bytes();
    let mut word_start = start;
    let mut push = |from: usize, to: usize| {
        if from < to {
            list.push(Word { text: &text[from..to], start: from, end: to });
        }
    };
    for at in start..end {
        let is_underscore = bytes[at] == b'_';
        let is_hump = at > word_start
            && bytes[at].is_ascii_uppercase()
            && (bytes[at - 1].is_ascii_lowercase()
                || (bytes[at - 1].is_ascii_uppercase()
                    && at + 1 < end
                    && bytes[at + 1].is_ascii_lowercase()));
        if is_underscore {
            push(word_start, at);
            word_start = at + 1;
        } else if is_hump {
            push(word_start, at);
            word_start = at;
        }
    }
    push(word_start, end);
}
