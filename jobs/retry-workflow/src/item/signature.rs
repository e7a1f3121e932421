//! [`Signature`]: a message with its variable parts folded, so that similar failures form a group.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use regex::{Captures, Regex};
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
            folded.push_str(&fold(&line[at..status.start]));
            folded.push_str(&line[status.clone()]);
            at = status.end;
        }
        folded.push_str(&fold(&line[at..]));
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

fn fold(text: &str) -> Cow<'_, str> {
    PART.replace_all(text, |found: &Captures<'_>| {
        let part = found.iter().skip(1).position(|group| group.is_some());
        part.and_then(|part| PARTS[part].1).unwrap_or(&found[0]).to_owned()
    })
}

/// FNV-1a (Fowler, Noll, Vo; 1991): a short name for a text that never changes. The standard
/// library's hasher may change between releases.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The same, folded to 32 bits.
pub(crate) fn fnv(text: &str) -> u64 {
    let hash = fnv1a(text);
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

/// The parts of a message that are folded, each with what replaces it, or `None` if it stays. Of
/// those that begin at the same place, the first is taken.
const PARTS: [(&str, Option<&str>); 11] = [
    (r"\s\s+|[\s--\x20]", Some(" ")),
    // An apostrophe inside a word is not a quote: `can't`.
    (r#""[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|\B'[^']*'"#, Some("<text>")),
    // The last character is not punctuation of the sentence around it.
    (r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s"'`“«]*[^\s"'`“«()\[\]{}<>,;:.!?=|]"#, Some("<url>")),
    (r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", Some("<mail>")),
    (
        r"(?x) \b [0-9]{1,3} (?: \.[0-9]{1,3} ){3} (?: :[0-9]+ )? \b
        | \[ [0-9A-Fa-f:.]* :: [0-9A-Fa-f:.]* \] (?: :[0-9]+ )?
        | \b [0-9A-Fa-f]{1,4} (?: :[0-9A-Fa-f]{1,4} )* :: [0-9A-Fa-f:]* [0-9A-Fa-f] \b
        | \b (?: [0-9A-Fa-f]{1,4}: ){7} [0-9A-Fa-f]{1,4} \b
        | \B ::1 \b",
        Some("<address>"),
    ),
    // The end of a tag, such as `</a>` or `<n>/s`, and a long word: neither a path nor an id.
    (r"[<>]/|[A-Za-z]{16,}(?:\b|_)", None),
    (r#"\B(?:~[A-Za-z0-9_-]*)?/[^\s"'`“«]*[^\s"'`“«()\[\]{}<>,;:.!?=|]"#, Some("<path>")),
    (r"[0-9]+(?:[.,][0-9]+)+|\b[0-9]+\b", Some("<n>")),
    // A UUID, hexadecimal digits, and a mix of letters and digits: `x86` is a name, `a1b2` an id.
    (
        r"(?x) \b [0-9A-Fa-f]{8} - (?: [0-9A-Fa-f]{4} - ){3} [0-9A-Fa-f]{12} \b
        | \b (?: 0x [0-9A-Fa-f]+ | [0-9A-Fa-f]{8,} ) \b
        | [A-Za-z]+ [0-9]+ [A-Za-z]+ [0-9] [0-9A-Za-z]*
        | [0-9]+ [A-Za-z]+ [0-9]+ [A-Za-z] [0-9A-Za-z]*",
        Some("<id>"),
    ),
    (r"[0-9A-Za-z]{16,}", Some("<id>")),
    // A unit stays: `250ms`.
    (r"[0-9]+", Some("<n>")),
];

static PART: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = PARTS.map(|(pattern, _)| format!("({pattern})"));
    Regex::new(&patterns.join("|")).expect("the patterns are valid")
});

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
            ("dial tcp [2001:db8::1]:5432: refused", "dial tcp <address>: refused"),
            ("read tcp 10.0.0.1:1->10.0.0.2:443: reset", "read tcp <address>-><address>: reset"),
            ("std::io::Error in x86_64", "std::io::Error in x<n>_<n>"),
            ("GET https://shop/items/7?q=\"x\" failed", "GET <url>=<text> failed"),
            ("cannot read /var/lib/a-b/c.db: no such file", "cannot read <path>: no such file"),
            ("and/or file=~/a/b.db, 30/minute", "and/or file=<path>, <n>/minute"),
            ("mail to ada@example.com bounced", "mail to <mail> bounced"),
            ("at 0x7f3aff, id=550e8400-e29b-41d4-a716-446655440000", "at <id>, id=<id>"),
            ("a1b2c3 in AKIAIOSFODNN7EXAMPLE", "<id> in <id>"),
            ("ConditionalCheckFailedException: 17", "ConditionalCheckFailedException: <n>"),
            ("HTTP 503 Service Unavailable", "HTTP 503 Service Unavailable"),
            (
                "curl: (22) The requested URL returned error: 503",
                "curl: (<n>) The requested URL returned error: 503",
            ),
            ("order 503 of 600 failed with status 422", "order <n> of <n> failed with status 422"),
            ("user 'status 503' is locked", "user <text> is locked"),
            ("version 1.2.3 is too old for v1.4", "version <n> is too old for v<n>"),
            ("  spread \t out\nsecond line", "spread out"),
            ("", ""),
        ] {
            assert_eq!(Signature::new(message).as_str(), signature, "{message}");
        }
    }

    #[test]
    fn a_signature_of_a_signature_is_itself() {
        for message in ["order 4711 at 10.0.0.1", "x \"y\" z", "a/b/c 17", "30/minute"] {
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
