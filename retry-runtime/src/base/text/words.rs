//! Splits a text into words: identifiers are taken apart, addresses left out. Each word knows in
//! which part of the text it stands (`a: b: c` has three), and whether it is quoted.

/// Counts a step of the work on a text in tests, which show that the steps grow linearly with the
/// text.
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

#[cfg(test)]
std::thread_local! {
    pub(crate) static STEPS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// Longer than any error message; an HTML page names its status near the top.
pub(crate) const LONGEST_TEXT: usize = 16 * 1024;

/// A word, or one part of an identifier.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// In which part of the text it stands; an error's text goes from the outside to the inside.
    pub(crate) part: usize,
    pub(crate) quoted: Quoted,
}

/// The kind of quotation in which a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoted {
    /// It is the text's own word.
    No,
    /// A quoted statement: `message: "…"`, `{"error": "…"}`.
    Statement,
    /// It is the name of a thing, after a word: `user "timeout"`.
    Name,
}

impl Word<'_> {
    pub(crate) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    pub(crate) fn is_in(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// The words of a text, and what lies between them.
pub(crate) struct Words<'a> {
    pub(crate) text: &'a str,
    pub(crate) list: Vec<Word<'a>>,
}

impl<'a> Words<'a> {
    /// Splits the text, up to [`LONGEST_TEXT`].
    pub(crate) fn split(text: &'a str) -> Self {
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];

        let mut list = Vec::new();
        let mut at = 0;
        let mut no_scheme_before = 0;
        while let Some(skipped) = text[at..].find(is_word_char) {
            let start = at + skipped;
            if let Some(end) = address_end(text, start, &mut no_scheme_before) {
                at = end;
                continue;
            }
            let run = &text[start..];
            let end = start + run.find(|c| !is_word_char(c)).unwrap_or(run.len());
            split_identifier(text, start, end, &mut list);
            at = end;
        }
        mark_parts(text, &mut list);
        mark_quotations(text, &mut list);
        Self { text, list }
    }

    /// The text between this word and the one before it.
    pub(crate) fn glue(&self, at: usize) -> &'a str {
        step();
        let before = if at == 0 { 0 } else { self.list[at - 1].end };
        self.list.get(at).map_or("", |word| &self.text[before..word.start])
    }

    /// Returns whether this word follows the one before it in the same sentence.
    pub(crate) fn is_close(&self, at: usize) -> bool {
        self.glue(at)
            .chars()
            .all(|c| c.is_whitespace() || matches!(c, '-' | '_' | '"' | '\'' | '’' | '`'))
    }

    /// Returns whether this word and the one before it are parts of one identifier.
    pub(crate) fn is_joined(&self, at: usize) -> bool {
        at > 0 && at < self.list.len() && matches!(self.glue(at), "" | "_")
    }
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the address that begins at `start`; `None` if none begins there. No scheme begins
/// before `no_scheme_before`: the words of `a-b-c` are followed by the same character.
fn address_end(text: &str, start: usize, no_scheme_before: &mut usize) -> Option<usize> {
    let rest = &text[start..];
    let has_scheme = start >= *no_scheme_before && {
        let is_of_scheme = |c: char| {
            step();
            c.is_ascii_alphanumeric() || matches!(c, '+' | '-')
        };
        let scheme = rest.find(|c| !is_of_scheme(c)).unwrap_or(rest.len());
        *no_scheme_before = start + scheme;
        rest[scheme..].starts_with("://")
    };
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
            list.push(Word {
                text: &text[from..to],
                start: from,
                end: to,
                part: 0,
                quoted: Quoted::No,
            });
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

/// Numbers the parts: a new one begins after a colon with a space behind it, after a semicolon,
/// and with each line.
fn mark_parts(text: &str, list: &mut [Word<'_>]) {
    let mut part = 0;
    let mut before = 0;
    for word in list {
        let glue = &text[before..word.start];
        let ends = |(at, c): (usize, char)| {
            matches!(c, ';' | '\n')
                || (c == ':' && glue[at + 1..].starts_with(|c: char| c.is_whitespace()))
        };
        part += glue.char_indices().filter(|&place| ends(place)).count();
        word.part = part;
        before = word.end;
    }
}

/// Marks what stands between quotation marks.
fn mark_quotations(text: &str, list: &mut [Word<'_>]) {
    let mut words = list.iter_mut().peekable();
    let mut at = 0;
    // `columns "a", "b"`: what one of a list is, the next one is too.
    let mut before = Quoted::Statement;
    // Marks that nothing closes any more; without them a text of quotation marks takes forever.
    let mut unclosed = Vec::new();
    while let Some((open, close)) = next_quotation(text, at, &mut unclosed) {
        while words.next_if(|word| word.end <= open).is_some() {}
        let quoted = match text[..open].trim_end().chars().next_back() {
            Some(',') => before,
            Some(c) if c.is_alphanumeric() && !introduces_statement(&text[..open]) => Quoted::Name,
            _ => Quoted::Statement,
        };
        while let Some(word) = words.next_if(|word| word.start < close) {
            word.quoted = quoted;
        }
        before = quoted;
        at = close + text[close..].chars().next().map_or(1, char::len_utf8);
    }
}

/// The next quotation from `at` on: where its marks stand.
fn next_quotation(text: &str, at: usize, unclosed: &mut Vec<char>) -> Option<(usize, usize)> {
    let is_inside_word = |mark: usize, len: usize| {
        let is_word = |c: char| c.is_alphanumeric();
        text[..mark].ends_with(is_word) && text[mark + len..].starts_with(is_word)
    };
    let mut from = at;
    loop {
        let (skipped, mark) = text[from..].char_indices().find(|(_, c)| closing(*c).is_some())?;
        let open = from + skipped;
        let inside = open + mark.len_utf8();
        from = inside;
        // "couldn't", "users' data": no quotation begins behind a letter.
        let is_apostrophe = mark == '\'' && text[..open].ends_with(char::is_alphanumeric);
        if is_apostrophe || unclosed.contains(&mark) {
            continue;
        }
        let closes = closing(mark)?;
        let close =
            text[inside..].char_indices().map(|(at, c)| (inside + at, c)).find(|&(at, c)| {
                c == closes && !is_inside_word(at, c.len_utf8()) && !text[..at].ends_with('\\')
            });
        if let Some((close, _)) = close {
            return Some((open, close));
        }
        unclosed.push(mark);
    }
}

/// The mark that ends a quotation which begins with this one.
const fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' | '`' => Some(open),
        '“' => Some('”'),
        '„' => Some('“'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// Returns whether the quotation after `before` is a statement: `error "…"`.
fn introduces_statement(before: &str) -> bool {
    const VERBS: [&str; 9] =
        ["error", "exception", "message", "reason", "returned", "replied", "said", "says", "with"];
    let before = before.trim_end();
    let last = before.rfind(|c: char| !c.is_alphanumeric()).map_or(before, |at| {
        let word = at + before[at..].chars().next().map_or(1, char::len_utf8);
        &before[word..]
    });
    VERBS.iter().any(|verb| last.eq_ignore_ascii_case(verb))
}
