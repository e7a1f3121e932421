//! [`Signature`]: a message with its variable parts folded, so that similar failures form a group.

use std::fmt;

use retry_runtime::classify::statuses;
use serde::{Deserialize, Serialize};

/// A message in which numbers, ids, quoted texts and addresses are folded.
///
/// | in the message | in the signature |
/// | --- | --- |
/// | `4711`, `3.5`, `250ms` | `<n>`, with its unit: `<n>ms`; but the status of a failed request stays |
/// | `0x7f3a`, `9f86d081884c`, `550e8400-e29b-…` | `<id>` |
/// | `"Zoë"`, `'x'`, `` `y` `` | `<text>` |
/// | `https://…` | `<url>` |
/// | `10.0.0.1:5432`, `[::1]:80` | `<address>` |
/// | `ada@example.com` | `<mail>` |
/// | `/var/lib/file.db` | `<path>` |
///
/// White space is folded too, and anything after the first line, or 200 characters, is cut.
///
/// ```
/// use retry_workflow::Signature;
///
/// let one = Signature::new("row 17: customer \"Ada\" not found at 10.0.0.1:5432");
/// let other = Signature::new("row 9: customer \"Bob\" not found at 10.0.0.2:5432");
/// assert_eq!(one.as_str(), "row <n>: customer <text> not found at <address>");
/// assert_eq!(one, other);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(String);

/// The longest signature, in characters: enough to recognise a failure.
const LONGEST: usize = 200;

/// The signature as a text, for [`Filter::signature`](crate::Filter::signature).
impl From<Signature> for String {
    fn from(signature: Signature) -> Self {
        signature.0
    }
}

/// The signature as a text, for [`Filter::signature`](crate::Filter::signature).
impl From<&Signature> for String {
    fn from(signature: &Signature) -> Self {
        signature.0.clone()
    }
}

impl Signature {
    /// Creates the signature of a message.
    ///
    /// ```
    /// # use retry_workflow::Signature;
    /// assert_eq!(Signature::new("order 17 timed out").as_str(), "order <n> timed out");
    /// ```
    pub fn new(message: &str) -> Self {
        let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        // Folding shortens the text, so read somewhat more of it than is kept.
        let line = line.char_indices().nth(4 * LONGEST).map_or(line, |(at, _)| &line[..at]);
        let mut folded = String::new();
        let mut at = 0;
        // A status says what failed: 503 and 422 have different causes.
        for status in statuses(line) {
            fold(&line[at..status.start], &mut folded);
            folded.push_str(&line[status.clone()]);
            at = status.end;
        }
        fold(&line[at..], &mut folded);
        if let Some((at, _)) = folded.char_indices().nth(LONGEST) {
            folded.truncate(at);
            folded.push('…');
        }
        Self(folded)
    }

    /// Returns the signature as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a short id: eight hexadecimal digits, the same in every process.
    ///
    /// ```
    /// # use retry_workflow::Signature;
    /// assert_eq!(Signature::new("disk full").id().len(), 8);
    /// ```
    pub fn id(&self) -> String {
        format!("{:08x}", fnv(&self.0))
    }
}

fn fold(text: &str, folded: &mut String) {
    for token in Tokens(text) {
        token.fold_into(folded);
    }
}

/// FNV-1a (Fowler, Noll, Vo; 1991), folded to 32 bits: a short name for a text that never changes.
/// The standard library's hasher may change between releases.
pub(crate) fn fnv(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<String> for Signature {
    /// Wraps a text that is already folded, as a store returns it.
    fn from(folded: String) -> Self {
        Self(folded)
    }
}

/// A piece of a message.
enum Token<'a> {
    Space,
    /// Text between quotes.
    Quoted,
    /// Anything without white space or quotes.
    Word(&'a str),
}

/// The pieces of a line.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.0;
        let first = rest.chars().next()?;
        if first.is_whitespace() {
            self.0 = rest.trim_start();
            return Some(Token::Space);
        }
        if let Some(length) = quoted(rest, first) {
            self.0 = &rest[length..];
            return Some(Token::Quoted);
        }
        // An apostrophe inside a word is not a quote: `can't`.
        let end = rest
            .char_indices()
            .skip(1)
            .find(|&(at, c)| {
                c.is_whitespace()
                    || (matches!(c, '"' | '`' | '“' | '«')
                        || c == '\'' && !before(rest, at).is_alphanumeric())
            })
            .map_or(rest.len(), |(at, _)| at);
        self.0 = &rest[end..];
        Some(Token::Word(&rest[..end]))
    }
}

fn before(text: &str, at: usize) -> char {
    text[..at].chars().next_back().unwrap_or(' ')
}

/// The length of the quoted text at the beginning, quotes included.
fn quoted(text: &str, first: char) -> Option<usize> {
    let close = match first {
        '"' | '\'' | '`' => first,
        '“' => '”',
        '«' => '»',
        _ => return None,
    };
    let open = first.len_utf8();
    let inside = text[open..].find(close)?;
    Some(open + inside + close.len_utf8())
}

impl Token<'_> {
    fn fold_into(&self, folded: &mut String) {
        match *self {
            Self::Space => folded.push(' '),
            Self::Quoted => folded.push_str("<text>"),
            Self::Word(word) => fold_word(word, folded),
        }
    }
}

/// Folds a word: an address as a whole, otherwise the parts between punctuation.
fn fold_word(word: &str, folded: &mut String) {
    const AROUND: &[char] =
        &['(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '.', '!', '?', '=', '|'];

    let body = word.trim_start_matches(AROUND);
    let head = &word[..word.len() - body.len()];
    let bare = body.trim_end_matches(AROUND);
    let tail = &body[bare.len()..];
    // `[::1]:80` begins with a character that surrounds other words.
    if is_address(word.trim_end_matches([',', ';', '.', ')'])) && word.contains("::") {
        folded.push_str("<address>");
        return;
    }
    folded.push_str(head);
    if bare.contains("://") {
        folded.push_str("<url>");
    } else if is_address(bare) {
        folded.push_str("<address>");
    } else if is_mail(bare) {
        folded.push_str("<mail>");
    } else if bare.len() > 1 && bare.starts_with(['/', '~']) && bare.contains('/') {
        folded.push_str("<path>");
    } else if is_uuid(bare) {
        folded.push_str("<id>");
    } else {
        fold_parts(bare, folded);
    }
    folded.push_str(tail);
}

/// Folds each run of letters and digits on its own: `user_17` → `user_<n>`.
fn fold_parts(word: &str, folded: &mut String) {
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric();
        if !is_part(first) {
            folded.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let mut end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        // A number continues across decimal points: 3.5, 1.2.3.
        while rest[..end].bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && rest[end..].starts_with(['.', ','])
            && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit())
        {
            end = rest[end + 1..].find(|c| !is_part(c)).map_or(rest.len(), |at| end + 1 + at);
        }
        fold_part(&rest[..end], folded);
        rest = &rest[end..];
    }
}

fn fold_part(part: &str, folded: &mut String) {
    let digits = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let has_digit = part.bytes().any(|b| b.is_ascii_digit());
    if !has_digit {
        folded.push_str(part);
    } else if let Some(hex) = part.strip_prefix("0x")
        && is_hex(hex)
    {
        folded.push_str("<id>");
    } else if digits.is_empty() {
        folded.push_str("<n>");
    } else if (part.len() >= 8 && is_hex(part)) || part.len() >= 16 {
        folded.push_str("<id>");
    } else if digits.len() < part.len() && digits.chars().all(char::is_alphabetic) {
        // A number with its unit.
        folded.push_str("<n>");
        folded.push_str(digits);
    } else {
        // Count the switches between letters and digits: `x86` is a name, `a1b2c3` an id.
        let turns = part
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
            .count();
        if turns >= 3 {
            folded.push_str("<id>");
        } else {
            fold_digits(part, folded);
        }
    }
}

/// Folds each run of digits: `item17` → `item<n>`.
fn fold_digits(part: &str, folded: &mut String) {
    let mut in_digits = false;
    for c in part.chars() {
        if !c.is_ascii_digit() {
            folded.push(c);
        } else if !in_digits {
            folded.push_str("<n>");
        }
        in_digits = c.is_ascii_digit();
    }
}

/// Returns whether a word is an IP address, with or without a port.
fn is_address(word: &str) -> bool {
    use std::net::{IpAddr, SocketAddr};

    word.parse::<SocketAddr>().is_ok()
        || (word.contains(['.', ':']) && word.trim_matches(['[', ']']).parse::<IpAddr>().is_ok())
}

fn is_mail(word: &str) -> bool {
    word.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'))
}

fn is_uuid(word: &str) -> bool {
    let parts: Vec<_> = word.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_parts_of_a_message_are_folded() {
        for (message, signature) in [
            ("order 4711 has no customer", "order <n> has no customer"),
            ("took 1500ms, limit 1.5s", "took <n>ms, limit <n>s"),
            ("user_17 is locked", "user_<n> is locked"),
            ("item17 of 20", "item<n> of <n>"),
            ("commit 9f86d081884c7d65 not found", "commit <id> not found"),
            ("request 550e8400-e29b-41d4-a716-446655440000 failed", "request <id> failed"),
            ("no such user: \"Zoë\"", "no such user: <text>"),
            ("column 'name' is empty", "column <text> is empty"),
            ("can't open it, won't try", "can't open it, won't try"),
            ("connect to 10.0.0.1:5432 refused", "connect to <address> refused"),
            ("connect to [::1]:80 refused", "connect to <address> refused"),
            ("GET https://shop/items/7?q=\"x\" failed", "GET <url>=<text> failed"),
            ("cannot read /var/lib/a-b/c.db: no such file", "cannot read <path>: no such file"),
            ("mail to ada@example.com bounced", "mail to <mail> bounced"),
            ("at 0x7f3aff", "at <id>"),
            ("HTTP 503 Service Unavailable", "HTTP 503 Service Unavailable"),
            (
                "curl: (22) The requested URL returned error: 503",
                "curl: (<n>) The requested URL returned error: 503",
            ),
            ("order 503 of 600 failed with status 422", "order <n> of <n> failed with status 422"),
            ("user 'status 503' is locked", "user <text> is locked"),
            ("version 1.2.3 is too old", "version <n> is too old"),
            ("  spread \t out\nsecond line", "spread out"),
            ("", ""),
        ] {
            assert_eq!(Signature::new(message).as_str(), signature, "{message}");
        }
    }

    #[test]
    fn a_signature_of_a_signature_is_itself() {
        for message in ["order 4711 at 10.0.0.1", "x \"y\" z", "a/b/c 17"] {
            let once = Signature::new(message);
            assert_eq!(Signature::new(once.as_str()), once);
        }
    }

    #[test]
    fn a_long_message_has_a_short_signature() {
        assert!(Signature::new(&"word ".repeat(100_000)).as_str().chars().count() < 220);
        assert!(Signature::new(&"x".repeat(10_000_000)).as_str().len() < 220);
    }
}
