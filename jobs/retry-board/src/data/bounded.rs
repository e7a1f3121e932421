//! [`Bounded`]: a text cut to a limit, and how much was cut off.

use retry_workflow::store::MAX_ID_BYTES;
use serde::Serialize;

/// A text of any size, cut to a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Bounded {
    pub(crate) text: String,
    /// The number of bytes cut off at the end.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Bounded {
    pub(crate) fn new(text: &str, most: usize) -> Self {
        let end = boundary(text, most);
        Self { text: text[..end].to_owned(), left_out: text.len() - end }
    }
}

/// The last character boundary at or before `most`.
fn boundary(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The longest id of a store, which is also the longest text that is shown as one.
pub(crate) const LONGEST_ID: usize = MAX_ID_BYTES;

/// A text that is shown as an id, such as the name of a task, cut to the limit.
pub(crate) fn id(id: &str) -> String {
    match boundary(id, LONGEST_ID) {
        end if end == id.len() => id.to_owned(),
        end => format!("{}…", &id[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_truncated_between_characters_with_the_omitted_count() {
        assert_eq!(Bounded::new("abc", 3), Bounded { text: "abc".to_owned(), left_out: 0 });
        assert_eq!(Bounded::new("aéc", 2), Bounded { text: "a".to_owned(), left_out: 3 });
        assert!(id(&"x".repeat(1 << 20)).len() < 1_100);
    }
}
