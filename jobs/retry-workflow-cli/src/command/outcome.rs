//! The end of the command: its exit codes and its errors.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::terminal::text::chain;
use retry_workflow::dead_letters::{ExportError, ImportError, SignatureError};
use retry_workflow::search::SearchError;
use retry_workflow::{JobReport, StoreError};

/// The end of the command; of several jobs, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything was done.
    Success,
    /// The job finished without dead letters and cancelled items, but it was too late for some of its items.
    Late,
    /// The job finished, but left dead letters or cancelled items.
    DeadLetters,
    /// The job stopped early.
    Stopped,
    /// Files have mistakes, which have been reported as JSON.
    BadFiles,
    /// The store is damaged, which has been reported.
    Unsound,
}

impl Exit {
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Success => 0,
            Self::Stopped | Self::Unsound => 1,
            Self::BadFiles => 2,
            Self::DeadLetters => 3,
            Self::Late => 5,
        })
    }

    /// Returns the exit code for a job that has ended.
    pub(crate) fn of(report: &JobReport) -> Self {
        if report.dead() > 0 || cancelled(report) > 0 {
            Self::DeadLetters
        } else if report.is_late() {
            Self::Late
        } else {
            Self::Success
        }
    }
}

/// Returns the number of items that were skipped because a user has cancelled them.
pub(crate) fn cancelled(report: &JobReport) -> u64 {
    report.classes.get("cancelled").copied().unwrap_or(0).min(report.counts.skipped)
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The arguments, or a file that they name, cannot be used: exit code 2.
    Usage(String),
    /// The work was started, but did not finish: exit code 1.
    Stopped(String),
    /// Another process works on a job of the same file: exit code 4.
    Running(String),
    /// The reader of the output has gone (`| head`): not an error, and nothing is printed.
    BrokenPipe,
}

impl CommandError {
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) => 2,
            Self::Stopped(_) => 1,
            Self::Running(_) => 4,
            Self::BrokenPipe => 0,
        })
    }

    /// An error from opening a store: a usage error if the path is not a store that can be used.
    pub(crate) fn opening(error: &StoreError) -> Self {
        match error {
            StoreError::Foreign { .. }
            | StoreError::Newer { .. }
            | StoreError::LacksColumns { .. }
            | StoreError::Access { .. } => Self::Usage(chain(error)),
            _ => Self::Stopped(chain(error)),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Stopped(text) | Self::Running(text) => f.write_str(text),
            Self::BrokenPipe => Ok(()),
        }
    }
}

retry_rules::conversion!(|error: io::Error| -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Self::BrokenPipe;
    }
    Self::Stopped(format!("cannot write: {error}"))
});

retry_rules::conversion!(|error: StoreError| -> CommandError { Self::Stopped(chain(&error)) });

retry_rules::conversion!(|error: SignatureError| -> CommandError {
    match error {
        SignatureError::Store(error) => error.into(),
        other => Self::Usage(chain(&other)),
    }
});

retry_rules::conversion!(|error: SearchError| -> CommandError {
    match error {
        SearchError::Store(error) => error.into(),
        other => Self::Usage(other.to_string()),
    }
});

retry_rules::conversion!(|error: ExportError| -> CommandError {
    match error {
        ExportError::Write(error) => error.into(),
        ExportError::Store(error) => error.into(),
        other => Self::Stopped(chain(&other)),
    }
});

retry_rules::conversion!(|error: ImportError| -> CommandError {
    match error {
        ImportError::Store(error) => error.into(),
        other => Self::Usage(chain(&other)),
    }
});
