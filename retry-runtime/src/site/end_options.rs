//! [`EndOptions`]: the options about the end of a call that are not part of its policy.

use retry_rules::history;

use crate::event::log_level::LogLevel;
use crate::outcome::ended::Reason;

/// The options of a function or a retrier about the end of its calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndOptions {
    /// The number of failures that the error of a call keeps.
    pub(crate) history: u8,
    /// The level of the event `gave up`.
    pub(crate) log: EndLevel,
    /// The level of the event of a retry.
    pub(crate) log_retries: LogLevel,
}

/// The level of the event `gave up`: one byte, because each annotated function has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndLevel {
    /// By the end of the call: the caller gets the error.
    ByEnd,
    /// By the end of the call: the function goes on without the result, because `on_failure` is
    /// `continue` or `fallback`.
    ByHandledEnd,
    /// As set.
    Set(LogLevel),
}

impl EndOptions {
    /// The defaults: nothing is kept, and the caller gets the error.
    pub(crate) const DEFAULT: Self =
        Self { history: 0, log: EndLevel::ByEnd, log_retries: LogLevel::Debug };

    /// Returns these options with `failures` to keep, or as many as possible.
    #[expect(clippy::cast_possible_truncation, reason = "the most is 100")]
    pub(crate) const fn with_history(self, failures: u32) -> Self {
        let kept = if failures < history::MOST { failures } else { history::MOST };
        Self { history: kept as u8, ..self }
    }

    /// Returns the level of the event `gave up` for a call that ends for this reason; `with_value`
    /// if its outcome is a value.
    pub(crate) const fn level(self, reason: Reason, with_value: bool) -> LogLevel {
        match (self.log, reason) {
            (EndLevel::Set(level), _) => level,
            // A failure that is not retryable may be frequent, and the caller handles it; a single
            // attempt is reported by the outer call that asked for it.
            (_, Reason::NotRetryable | Reason::Nested) => LogLevel::Debug,
            (EndLevel::ByEnd, _) if !with_value => LogLevel::Warn,
            _ => LogLevel::Info,
        }
    }
}
