//! [`Output`]: what an attempt wrote and how its command ended, as the history keeps it.

use serde::{Deserialize, Serialize};

/// The output of an attempt: the output of a command, or of anything else.
///
/// The history keeps it as given: limit its size and remove secrets first.
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
    /// The standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The exit status of the command, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl Output {
    /// Creates an output with these texts.
    pub fn new(stdout: impl Into<String>, stderr: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into(), exit_code: None, signal: None }
    }
}
