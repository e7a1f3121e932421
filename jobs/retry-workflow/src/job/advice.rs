//! Advice about failures that are alike.

use std::fmt;

use serde::Serialize;

use crate::item::record::has_class;
use crate::item::summary::Group;

/// Three or more failures that are alike, and so probably have a common cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pattern {
    /// The failures.
    #[serde(flatten)]
    pub group: Group,
    /// The advice about them.
    pub advice: &'static str,
}

/// The number of failures with one signature from which on they are a pattern.
const MANY: u64 = 3;

impl Pattern {
    /// The patterns among groups of failures.
    pub(crate) fn among(groups: &[Group]) -> Vec<Self> {
        let many = groups.iter().filter(|group| group.count >= MANY);
        many.map(|group| Self { group: group.clone(), advice: group.advice() }).collect()
    }
}

impl Group {
    /// Returns what to do about these failures, judged by their class and number.
    ///
    /// ```
    /// use retry_workflow::store::Group;
    /// use retry_workflow::{Failure, Timestamp};
    ///
    /// let failure = Failure::new("timeout", "no answer after 30s");
    /// let group = Group::new(&failure, "A-17", Timestamp::from_micros(1));
    /// assert!(group.advice().starts_with("these took too long"));
    /// ```
    pub fn advice(&self) -> &'static str {
        by_class(&self.class).unwrap_or(if self.count >= MANY {
            "these most likely share one cause: fix it, then re-drive these by their signature"
        } else {
            "fix the cause, then re-drive by the signature"
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}: {}", self.group.count, self.group.signature, self.advice)
    }
}

/// Returns the advice for the first class that matches; `None` if the class says too little.
fn by_class(class: &str) -> Option<&'static str> {
    const BY_CLASS: &[(&str, &str)] = &[
        (
            "rate_limit",
            "the other side asks for fewer calls: lower `max_parallel`, or re-drive these at a \
             limited rate",
        ),
        (
            "network",
            "the other side could not be reached: check that it is up, then re-drive these",
        ),
        (
            "timeout",
            "these took too long: find out what is slow, or raise the timeout, then re-drive these",
        ),
        (
            "conflict",
            "these lost against other transactions: lower `max_parallel`, or re-drive these when \
             less is going on",
        ),
        ("server_error", "the other side failed: re-drive these once it has recovered"),
        ("panic", "a bug in the handler: fix it, then re-drive these"),
        ("payload", "the handler cannot read these items: fix the input or the type"),
        (
            "lost",
            "these killed their worker, or were running when it was killed: check its memory and \
             logs before you re-drive them",
        ),
        ("late", "these had not begun in time: run them in another job if they are still wanted"),
        ("dependency", "these depend on a task that failed: fix that one, then resume"),
    ];
    BY_CLASS.iter().find(|(one, _)| has_class(class, one)).map(|it| it.1)
}
