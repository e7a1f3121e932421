//! `pattern("…")`: a regular expression that is compiled once, on first use.

use std::sync::OnceLock;

use regex::Regex;

/// A pattern in a `static`. The macro has compiled it already, so it is valid.
#[derive(Debug)]
pub struct Pattern {
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern from a text that the macro has checked.
    pub const fn new(text: &'static str) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    /// Returns whether the pattern is found in `text`.
    #[cold]
    pub fn is_match(&self, text: &str) -> bool {
        // Cannot fail: the macro compiled it with the same features of the same crate.
        let regex = self.regex.get_or_init(|| Regex::new(self.text).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}
