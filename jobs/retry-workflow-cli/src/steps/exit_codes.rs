//! [`ExitCodes`]: exit codes as matchers of a step, and those that have a meaning of their own.

use std::ops::RangeInclusive;
use std::sync::Arc;

use retry_runtime::{Class, classify};

use crate::steps::process::{Status, StepError};

/// Exit codes of failed commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExitCodes(pub(crate) Vec<RangeInclusive<u8>>);

/// The exit codes among the matchers of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeMatchers {
    /// Those of `retry_on`; `None` if it has none.
    pub(crate) retry_on: Option<Arc<ExitCodes>>,
    pub(crate) abort_on: ExitCodes,
}

impl ExitCodes {
    /// Returns whether the command ended with one of these codes. One that a signal has killed
    /// counts as a shell reports it: 137 for SIGKILL.
    pub(crate) fn matches(&self, error: &StepError) -> bool {
        let code = match *error.status() {
            Status::Exit(code) => code,
            Status::Signal(signal) => 128 + signal,
            _ => return false,
        };
        u8::try_from(code).is_ok_and(|code| self.0.iter().any(|range| range.contains(&code)))
    }
}

/// A temporary failure, of sysexits.h.
const TEMPORARY: i32 = 75;
/// The time of GNU timeout is over.
const TIMED_OUT: i32 = 124;

/// The class of an error by its exit code, and by what it says; `None` if the code has no meaning
/// of its own.
pub(crate) fn class(error: &StepError) -> Option<Class> {
    let class = match error.exit_code()? {
        TEMPORARY => Class::SERVER_ERROR,
        TIMED_OUT => Class::TIMEOUT,
        _ => return None,
    };
    Some(classify::error(error) | class)
}
