//! [`TemplateError`]: a mistake in a text with placeholders, or in a condition.

/// A mistake in a text: its position, the part that is wrong, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    pub(crate) at: usize,
    pub(crate) part: String,
    pub(crate) message: String,
}
