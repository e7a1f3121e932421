//! Errors as this library reads and reports them: with their cause.

use core::fmt::{Display, Write as _};

/// The text of an error with its cause, also where that is printed on request only:
/// by `{:#}`, as of a `RetryError` or an `anyhow::Error`. It counts where it begins with
/// the plain text; of others it may be another layout of the same, over many lines.
pub(crate) fn full_text(error: &(impl Display + ?Sized)) -> String {
    let (mut plain, mut full) = (String::new(), String::new());
    // An error whose `Display` fails has said what it could.
    let _ = write!(plain, "{error}");
    let _ = write!(full, "{error:#}");
    if full.starts_with(&plain) { full } else { plain }
}
