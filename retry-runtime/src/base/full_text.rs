//! The text of errors as this library reads and reports it: with the cause.

use core::fmt::{Display, Write as _};

/// The text of an error including its cause, even where the cause is printed only for `{:#}`, as
/// with a `RetryError` or an `anyhow::Error`. The `{:#}` text is used only if it begins with the
/// plain text; for other errors it may be the same text pretty-printed over many lines.
pub(crate) fn full_text(error: &(impl Display + ?Sized)) -> String {
    let (mut plain, mut full) = (String::new(), String::new());
    // Ignored: if `Display` fails, whatever it wrote so far is used.
    let _ = write!(plain, "{error}");
    let _ = write!(full, "{error:#}");
    if full.starts_with(&plain) { full } else { plain }
}
