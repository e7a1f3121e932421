//! [`InvalidKeys`]: what is wrong with the keys of settings, and which keys are to blame.

use core::error::Error;
use core::fmt;
use std::string::{String, ToString as _};
use std::vec::Vec;

use crate::rules::field::{Field, Fields};
use crate::rules::messages::{Style, Values};
use crate::rules::table::Rules;

/// Keys that can be parsed, but do not form valid settings: they break rules, or contradict one
/// another.
///
/// Its `Display` is the message, worded in the style of the keys.
///
/// ```
/// use retry_rules::Style;
/// use retry_rules::file::Draft;
///
/// let draft: Draft = serde_json::from_str(r#"{ "attempts": 0, "jitter": true }"#).unwrap();
/// let invalid = draft.finish(Style::Command).unwrap_err();
/// assert_eq!(invalid.keys().next(), Some("attempts"));
/// assert!(invalid.to_string().contains("write `attempts: 1`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidKeys {
    keys: Vec<&'static str>,
    message: String,
}

impl InvalidKeys {
    /// Creates the error for one key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { keys: [key].into(), message: message.into() }
    }

    /// Returns the keys to blame, the most likely one first. A key that may be inside another, or
    /// that has two names, is followed by the other.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().copied()
    }

    /// Creates the error for the `broken` rules of settings, of which the fields `written` are in
    /// the file, with their values.
    pub(super) fn broken(
        broken: Rules,
        values: &dyn Values,
        written: Fields,
        style: Style,
    ) -> Self {
        let blamed = broken
            .iter()
            .flat_map(super::super::rules::table::Rule::fields)
            .filter(|field| written.contains(**field) || written.contains(whole(**field)))
            .flat_map(|field| keys(style, *field));
        let complaints: Vec<_> =
            broken.iter().map(|rule| rule.explained(style, values).to_string()).collect();
        Self { keys: blamed.collect(), message: complaints.join("; ") }
    }
}

impl fmt::Display for InvalidKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for InvalidKeys {}

/// The field of a policy of which this one is a part, or the field itself.
fn whole(field: Field) -> Field {
    match field {
        Field::Base | Field::Increment | Field::Delays => Field::Backoff,
        Field::JitterFactor => Field::Jitter,
        other => other,
    }
}

/// The key of a field, and the key that may contain it, or its other name.
fn keys(style: Style, field: Field) -> impl Iterator<Item = &'static str> {
    let other = match field {
        Field::Base | Field::Increment | Field::Delays | Field::InitialDelay => Some("backoff"),
        Field::JitterFactor => Some("jitter"),
        Field::Budget => Some("budget"),
        Field::Attempts if style == Style::Command => Some("max_attempts"),
        _ => None,
    };
    style.name(field).into_iter().chain(other)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use crate::Style;
    use crate::file::Draft;

    #[test]
    fn setting_of_a_part_is_to_blame_with_and_without_the_whole() {
        for (file, blamed) in [
            (r#"{ "jitter_factor": 0.5 }"#, "jitter_factor"),
            (r#"{ "jitter": true, "jitter_factor": 1.5 }"#, "jitter_factor"),
            (r#"{ "backoff": { "exponential": { "base": 1.0 } } }"#, "base"),
        ] {
            let draft: Draft = serde_json::from_str(file).unwrap();
            let keys: Vec<_> = draft.finish(Style::Command).unwrap_err().keys().collect();
            assert_eq!(keys.first(), Some(&blamed), "{file}: {keys:?}");
        }
    }
}
