//! A regular expression that is compiled once, at its first use: `pattern("…")`.

use std::sync::OnceLock;

use regex::Regex;

/// A pattern in a `static`; the macro has compiled it already, so it is sound.
#[derive(Debug)]
pub struct Pattern {
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern that the macro has compiled.
    pub const fn new(text: &'static str) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    /// Whether the pattern is found in `text`.
    #[cold]
    pub fn is_match(&self, text: &str) -> bool {
        // The macro has compiled it with the same features of the same crate.
        let regex = self.regex.get_or_init(|| Regex::new(self.text).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}
