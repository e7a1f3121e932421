//! [`Output`]: what an attempt wrote, as far as its history keeps it.

use serde::{Deserialize, Serialize};

/// What an attempt wrote: the output of a command, or of anything that has some.
///
/// The history keeps it as it is given: bound it, and leave out secrets, before.
///
/// ```
/// use retry_workflow::{Failure, Output};
///
/// let mut failure = Failure::new("other", "exit status 2");
/// failure.output = Some(Box::new(Output::new("12 rows read", "row 13 has no date")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Output {
    /// What went to standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What went to standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl Output {
    /// Creates an output of these texts.
    pub fn new(stdout: impl Into<String>, stderr: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into() }
    }

    /// Returns whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }
}
