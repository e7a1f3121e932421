//! Texts as Postgres can store them: its texts cannot contain NUL, and ours can.
//!
//! NUL is written as U+0001 U+0001, and U+0001 as U+0001 U+0002. This preserves the order of texts,
//! and which text is a prefix of which.

use std::borrow::Cow;

/// The text as it is stored.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte <= 1) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        match sign {
            '\0' => encoded.push_str("\u{1}\u{1}"),
            '\u{1}' => encoded.push_str("\u{1}\u{2}"),
            sign => encoded.push(sign),
        }
    }
    Cow::Owned(encoded)
}

/// The original text.
pub(crate) fn decode(encoded: String) -> String {
    if !encoded.bytes().any(|byte| byte == 1) {
        return encoded;
    }
    let mut text = String::with_capacity(encoded.len());
    let mut signs = encoded.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1}' => match signs.next() {
                Some('\u{2}') => text.push('\u{1}'),
                _ => text.push('\0'),
            },
            sign => text.push(sign),
        }
    }
    text
}

/// Returns the first text after all texts with this prefix, if one exists.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    let rest = prefix.trim_end_matches(char::MAX);
    let last = rest.chars().next_back()?;
    // The range skips the surrogates.
    let next = (last..=char::MAX).nth(1)?;
    Some(format!("{}{next}", &rest[..rest.len() - last.len_utf8()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 12] = [
        "",
        "\0",
        "\0\0",
        "\0a",
        "\u{1}",
        "\u{1}\0",
        "\u{1}\u{1}",
        "\u{1}\u{2}",
        "\u{2}",
        "a",
        "a\0b",
        "a\u{d7ff}",
    ];

    #[test]
    fn any_text_comes_back_in_its_order_and_without_nul() {
        for text in TEXTS {
            assert!(!encode(text).contains('\0'), "{text:?}");
            assert_eq!(decode(encode(text).into_owned()), text);
            for other in TEXTS {
                assert_eq!(text.cmp(other), encode(text).cmp(&encode(other)), "{text:?} {other:?}");
                let begins = encode(text).starts_with(&*encode(other));
                assert_eq!(text.starts_with(other), begins, "{text:?} {other:?}");
            }
        }
    }

    #[test]
    fn texts_with_a_prefix_are_below_the_end_of_the_prefix() {
        for prefix in ["a", "a\u{d7ff}", "a\u{10ffff}", "ä%"] {
            let end = prefix_end(prefix).unwrap();
            assert!(format!("{prefix}\u{10ffff}\u{10ffff}") < end, "{prefix:?}");
            assert!(prefix < &*end);
        }
        assert_eq!(prefix_end("k/").as_deref(), Some("k0"));
        assert_eq!((prefix_end(""), prefix_end("\u{10ffff}")), (None, None));
    }
}
