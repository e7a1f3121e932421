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
    #[inline(never)]
    pub(crate) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Returns whether it is one of these words, which are separated by spaces.
    #[inline(never)]
    pub(crate) fn is_in(&self, words: &str) -> bool {
        words.split(' ').any(|word| self.is(word))
    }

    pub(crate) fn is_number(&self) -> bool {
        starts(self.text, |c| c.is_ascii_digit())
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
        let mut no_scheme_before = 0;
        let mut start = find(text, 0, is_word_char);
        while start < text.len() {
            let address = address_end(text, start, &mut no_scheme_before);
            let end = address.unwrap_or_else(|| find(text, start, |c| !is_word_char(c)));
            if address.is_none() {
                split_identifier(text, start, end, &mut list);
            }
            start = find(text, end, is_word_char);
        }
        mark_parts(text, &mut list);
        mark_quotations(text, &mut list);
        Self { text, list }
    }

    // The functions below are small, and called at many places: inlined, or with a panic at each place,
    // they would be a large part of a program.

    /// The word at a place; one that is empty if there is none.
    #[inline(never)]
    pub(crate) fn word(&self, at: usize) -> &Word<'a> {
        const NONE: &Word<'_> = &Word { text: "", start: 0, end: 0, part: 0, quoted: Quoted::No };

        self.list.get(at).unwrap_or(NONE)
    }

    /// The text before this word.
    #[inline(never)]
    pub(crate) fn before(&self, at: usize) -> &'a str {
        cut(self.text, 0, self.word(at).start)
    }

    /// The text behind this word.
    #[inline(never)]
    pub(crate) fn after(&self, at: usize) -> &'a str {
        cut(self.text, self.word(at).end, self.text.len())
    }

    /// The text between this word and the one before it.
    #[inline(never)]
    pub(crate) fn glue(&self, at: usize) -> &'a str {
        step();
        cut(self.text, self.word(at.wrapping_sub(1)).end, self.word(at).start)
    }

    /// Returns whether this word follows the one before it in the same sentence.
    #[inline(never)]
    pub(crate) fn is_close(&self, at: usize) -> bool {
        self.glue(at)
            .chars()
            .all(|c| c.is_whitespace() || matches!(c, '-' | '_' | '"' | '\'' | '’' | '`'))
    }

    /// Returns whether this word and the one before it are parts of one identifier.
    #[inline(never)]
    pub(crate) fn is_joined(&self, at: usize) -> bool {
        at > 0 && at < self.list.len() && matches!(self.glue(at), "" | "_")
    }
}

#[inline(never)]
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The part of a text; nothing if it has none there.
#[inline(never)]
pub(crate) fn cut(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// Returns whether the text contains a part, which is short and not empty.
#[inline(never)]
pub(crate) fn has(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}

/// Returns whether the text begins with such a character.
#[inline(never)]
pub(crate) fn starts(text: &str, is: fn(char) -> bool) -> bool {
    text.starts_with(is)
}

/// Returns whether the text ends with such a character.
#[inline(never)]
pub(crate) fn ends(text: &str, is: fn(char) -> bool) -> bool {
    text.ends_with(is)
}

/// Returns where the first such character is, from a place on; the end if there is none.
#[inline(never)]
pub(crate) fn find(text: &str, from: usize, is: fn(char) -> bool) -> usize {
    cut(text, from, text.len()).find(is).map_or(text.len(), |at| from + at)
}

/// The end of the address that begins at `start`; `None` if none begins there. No scheme begins
/// before `no_scheme_before`: the words of `a-b-c` are followed by the same character.
fn address_end(text: &str, start: usize, no_scheme_before: &mut usize) -> Option<usize> {
    let before = cut(text, 0, start);
    let has_scheme = start >= *no_scheme_before && {
        *no_scheme_before = find(text, start, |c| {
            step();
            !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-')
        });
        cut(text, *no_scheme_before, text.len()).starts_with("://")
    };
    let is_path = before.strip_suffix('/').is_some_and(|before| {
        before.is_empty() || ends(before, |c| c.is_whitespace() || "\"'`(<".contains(c))
    });
    // A closing tag is not a path.
    let is_tag = before.ends_with("</");
    if !has_scheme && (!is_path || is_tag) {
        return None;
    }
    Some(find(text, start, |c| {
        c.is_whitespace() || matches!(c, ')' | '>' | '"' | '\'' | '`' | '<')
    }))
}

/// `ERR_TIMED_OUT` → ERR TIMED OUT, `HTTPServerError` → HTTP Server Error.
fn split_identifier<'a>(text: &'a str, start: usize, end: usize, list: &mut Vec<Word<'a>>) {
    let bytes = text.as_bytes();
    let mut word_start = start;
    let mut push = |from: usize, to: usize| {
        if from < to {
            list.push(Word {
                text: cut(text, from, to),
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
        let mut glue = cut(text, before, word.start).chars();
        while let Some(c) = glue.next() {
            let ends =
                matches!(c, ';' | '\n') || c == ':' && starts(glue.as_str(), char::is_whitespace);
            part += usize::from(ends);
        }
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
        let introduction = cut(text, 0, open).trim_end();
        let quoted = match introduction.chars().next_back() {
            Some(',') => before,
            Some(c) if c.is_alphanumeric() && !introduces_statement(introduction) => Quoted::Name,
            _ => Quoted::Statement,
        };
        while let Some(word) = words.next_if(|word| word.start < close) {
            word.quoted = quoted;
        }
        before = quoted;
        at = close + cut(text, close, text.len()).chars().next().map_or(1, char::len_utf8);
    }
}

/// The next quotation from `at` on: where its marks stand.
fn next_quotation(text: &str, at: usize, unclosed: &mut Vec<char>) -> Option<(usize, usize)> {
    let is_inside_word = |mark: usize, len: usize| {
        ends(cut(text, 0, mark), char::is_alphanumeric)
            && starts(cut(text, mark + len, text.len()), char::is_alphanumeric)
    };
    let mut from = at;
    loop {
        let open = find(text, from, |c| closing(c).is_some());
        let mark = cut(text, open, text.len()).chars().next()?;
        let inside = open + mark.len_utf8();
        from = inside;
        // "couldn't", "users' data": no quotation begins behind a letter.
        let is_apostrophe = mark == '\'' && ends(cut(text, 0, open), char::is_alphanumeric);
        if is_apostrophe || unclosed.contains(&mark) {
            continue;
        }
        let closes = closing(mark)?;
        let inner = cut(text, inside, text.len()).char_indices();
        let close = inner.map(|(at, c)| (inside + at, c)).find(|&(at, c)| {
            let is_escaped = || cut(text, 0, at).ends_with('\\');
            c == closes && !is_inside_word(at, c.len_utf8()) && !is_escaped()
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
    #[rustfmt::skip]
    const VERBS: &str = "error exception message reason returned replied said says with";
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    VERBS.split(' ').any(|verb| last.eq_ignore_ascii_case(verb))
}
