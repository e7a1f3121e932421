//! [`EndOptions`]: the options about the end of a call that are not part of its policy.

use retry_rules::history;

/// The options of a function or a retrier about the end of its calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndOptions {
    /// The number of failures that the error of a call keeps.
    pub(crate) history: u8,
}

impl EndOptions {
    /// The defaults: nothing is kept.
    pub(crate) const DEFAULT: Self = Self { history: 0 };

    /// Returns these options with `failures` to keep, or as many as possible.
    #[expect(clippy::cast_possible_truncation, reason = "the most is 100")]
    pub(crate) const fn with_history(mut self, failures: u32) -> Self {
        let kept = if failures < history::MOST { failures } else { history::MOST };
        self.history = kept as u8;
        self
    }
}
