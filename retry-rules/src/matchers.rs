//! The words of lists of matchers: `retry_on`, `abort_on`, `breaker_on`.

/// The kinds of failure, without `transient`, which is all of them.
pub const CLASSES: [&str; 6] =
    ["network", "connect", "timeout", "server_error", "rate_limit", "conflict"];

/// The message about a list in which [`covered`] finds a pair.
pub const COVERED: &str = "`network` covers `connect`: keep `connect` for the failures whose request \
                           was certainly not sent, or `network` for all";

/// Finds the entry that matches nothing beside another one of the list: returns `network`, and the
/// `connect` that it covers. `is` returns whether an entry is this word.
pub fn covered<T>(list: &[T], is: impl Fn(&T, &str) -> bool) -> Option<(&T, &T)> {
    let entry = |word| list.iter().find(|entry| is(entry, word));
    entry("network").zip(entry("connect"))
}

/// Returns the matcher that stands for this HTTP status, or `None` if no failure of that status is
/// retried by its class.
pub const fn of_status(status: u16) -> Option<&'static str> {
    match status {
        408 | 504 | 522 | 524 => Some("timeout"),
        429 => Some("rate_limit"),
        501 | 505 => None,
        500..=599 => Some("server_error"),
        _ => None,
    }
}

/// Returns how messages name a status that `transient` leaves out.
pub const fn left_out(status: u16) -> Option<&'static str> {
    match status {
        501 => Some("a 501"),
        505 => Some("a 505"),
        400..=499 if of_status(status).is_none() => Some("a 4xx"),
        _ => None,
    }
}
