//! [`TemplateError`]: a mistake in a text with placeholders, or in a condition.

use retry_workflow::condition::expression::ExpressionError;

/// A mistake in a text: its position, the part that is wrong, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    pub(crate) at: usize,
    pub(crate) part: String,
    pub(crate) message: String,
}

retry_rules::conversion!(|error: ExpressionError| -> TemplateError {
    let ExpressionError { at, part, message } = error;
    Self { at, part, message }
});
