//! The words of lists of matchers: `retry_on`, `abort_on`, `breaker_on`, `uncounted`.

use core::fmt;
use std::format;
use std::string::String;

/// The kinds of failure, without `transient`, which is all of them.
pub const CLASSES: [&str; 6] =
    ["network", "connect", "timeout", "server_error", "rate_limit", "conflict"];

/// Returns whether the matcher `outer` matches all failures that `inner` matches, and others.
pub fn covers(outer: &str, inner: &str) -> bool {
    match outer {
        "transient" => CLASSES.contains(&inner),
        "network" => inner == "connect",
        _ => false,
    }
}

/// A word that has no effect in its list, because another word of the list covers it. Displayed as
/// what is wrong and what to write.
#[derive(Clone, Copy, Debug)]
pub struct Covered {
    /// The word without effect.
    pub inner: &'static str,
    /// The word that covers it.
    pub outer: &'static str,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { inner, outer: "transient" } => write!(
                f,
                "`{inner}` is part of `transient`: remove `{inner}`, or list the kinds to match \
                 without `transient`"
            ),
            Self { inner, outer } => write!(
                f,
                "`{outer}` covers `{inner}`: keep `{inner}` for the failures whose request was \
                 certainly not sent, or `{outer}` for all"
            ),
        }
    }
}

/// Returns the words without effect in a list of which `has` returns whether it contains a word.
pub fn covered(has: impl Fn(&str) -> bool) -> impl Iterator<Item = Covered> {
    CLASSES.into_iter().filter_map(move |inner| {
        let outer = ["transient", "network"]
            .into_iter()
            .find(|&outer| covers(outer, inner) && has(outer) && has(inner))?;
        Some(Covered { inner, outer })
    })
}

/// Returns the message about a `kind` in `uncounted` that is never retried, if `retry_on` is a list of
/// kinds: `lists` returns whether it contains a word.
pub fn never_retried(kind: &str, lists: impl Fn(&str) -> bool) -> Option<String> {
    let is_retried = CLASSES.into_iter().chain(["transient"]).any(|listed| {
        // The timeout of a connection is both.
        let overlaps = matches!(
            (listed, kind),
            ("connect" | "network", "timeout") | ("timeout", "connect" | "network")
        );
        lists(listed)
            && (listed == kind || overlaps || covers(listed, kind) || covers(kind, listed))
    });
    (!is_retried).then(|| {
        format!(
            "`{kind}` is not in `retry_on`, so such a failure is never retried: add it there, or \
             remove it here"
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_a_connection_is_retried_by_either_kind() {
        for (kind, listed) in
            [("connect", "timeout"), ("timeout", "connect"), ("network", "timeout")]
        {
            assert_eq!(never_retried(kind, |word| word == listed), None, "{kind}");
        }
        assert!(never_retried("rate_limit", |word| word == "timeout").is_some());
    }
}
