//! [`Word`]: a word of a command with the values that stand in it.

use crate::template::error::TemplateError;

/// A word, as far as it has been read.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is so or not, whatever the others are")]
pub(super) struct Word {
    /// The text without quotes; expansions as written.
    pub(super) text: String,
    /// Part of it is quoted, so it is not a keyword.
    pub(super) quoted: bool,
    /// Its text is known only at runtime.
    pub(super) expands: bool,
    /// It contains an unquoted expansion.
    pub(super) unquoted_expansion: bool,
    /// It is a file name pattern.
    pub(super) pattern: bool,
    /// It contains an unquoted open brace, as for `{a,b}` or `{1..3}`.
    pub(super) brace: bool,
    pub(super) braces: bool,
    /// The length of the name in `name=…`.
    pub(super) assigns: Option<usize>,
    pub(super) values: Vec<Value>,
}

impl Word {
    /// Returns whether the word is literal.
    pub(super) fn is_fixed(&self) -> bool {
        self.values.is_empty() && !self.expands && !self.splits()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.is_fixed() && self.text == text
    }

    /// Returns whether it is a single word without a value, even if its text is known only at runtime.
    pub(super) fn is_one_word(&self) -> bool {
        // `"$@"` expands to all arguments.
        self.values.is_empty() && !self.splits() && !(self.expands && self.text.contains('@'))
    }

    /// Returns whether it may expand to several words, or to none.
    pub(super) fn splits(&self) -> bool {
        self.unquoted_expansion || self.pattern || self.braces
    }
}

/// The place of a value, and how it is written.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) at: usize,
    pub(super) part: String,
    /// The index of the value in the script; `None` for the output of a command that contains it.
    pub(super) number: Option<usize>,
    /// The length of the word before it.
    pub(super) before: usize,
}

impl Value {
    pub(super) fn refused(&self, why: &str) -> TemplateError {
        let Self { at, part, number, .. } = self;
        let what = if number.is_some() { "" } else { "the output of a command with " };
        let message = format!("{what}`{part}` is not allowed here: {why}");
        TemplateError { at: *at, part: part.clone(), message }
    }
}
