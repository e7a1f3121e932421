//! The text of errors as this library reads and reports it: with the cause.

use core::error::Error;
use core::fmt::{self, Display, Write as _};

/// The longest chain of errors that is followed; a longer one is assumed to be a cycle.
pub(crate) const LONGEST_CHAIN: usize = 64;

/// Returns the text of an error including its cause, even where the cause is printed only for
/// `{:#}`, as with a `RetryError` or an `anyhow::Error`. A `StatusError` adds the body of its
/// response.
///
/// The `{:#}` text is used only if it begins with the plain text; for other errors it may be the
/// same text pretty-printed over many lines.
pub(crate) fn full_text(error: &(impl Display + ?Sized)) -> String {
    full_or_plain(error, format_args!("{error:#}"))
}

/// Returns the text of an error, followed by the texts of `inner`, the errors that it wraps. A text
/// that is contained in what precedes it is not repeated.
pub(crate) fn text_with_sources<'a>(
    error: &(impl Display + ?Sized),
    inner: impl Iterator<Item = &'a (dyn Error + 'static)>,
) -> String {
    let mut text = full_text(error);
    for link in inner {
        let cause = full_text(link);
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Returns the text of an error including its cause, but without the bodies of responses: for what
/// a text says about its failure.
pub(crate) fn text_without_bodies(error: &(impl Display + ?Sized)) -> String {
    // `-` has no meaning in std, and is passed on wherever `#` is.
    full_or_plain(error, format_args!("{error:-#}"))
}

fn full_or_plain(error: &(impl Display + ?Sized), full: fmt::Arguments<'_>) -> String {
    let mut plain = String::new();
    // Ignored: if `Display` fails, whatever it wrote so far is used.
    let _ = write!(plain, "{error}");
    let mut text = String::new();
    let _ = text.write_fmt(full);
    if text.starts_with(&plain) { text } else { plain }
}
