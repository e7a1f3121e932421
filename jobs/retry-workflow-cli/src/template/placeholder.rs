//! [`Placeholder`]: a `${…}` in a text, and the value that it stands for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::yaml::span::SourceSpan;
use retry_workflow::condition::path::PathPart;

/// A parsed placeholder.
#[derive(Clone, Debug)]
pub(crate) struct Placeholder {
    /// As written, with its braces.
    pub(crate) written: String,
    pub(crate) meaning: Meaning,
    /// Relative to its text when that has been parsed; the reader of the file then makes it
    /// relative to the file.
    pub(crate) span: SourceSpan,
}

/// A parsed text that contains placeholders.
pub(crate) trait Placeholders {
    fn placeholders_mut(&mut self) -> impl Iterator<Item = &mut Placeholder>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The item, or the value at this path in it.
    Item(Vec<PathPart>),
    Results,
    Total,
    Successful,
    Failed,
    Error,
    LastOutput,
    ShellOutput,
    /// The output that was captured under this name, or the value at this path in it.
    Captured(String, Vec<PathPart>),
    /// A fact about the step that captured this output.
    Ended(String, EndOf),
}

impl Meaning {
    /// The placeholders that take no path, by name.
    pub(super) const NAMES: [(&str, Self); 7] = [
        ("map.results", Self::Results),
        ("map.total", Self::Total),
        ("map.successful", Self::Successful),
        ("map.failed", Self::Failed),
        ("error", Self::Error),
        ("last.output", Self::LastOutput),
        ("shell.output", Self::ShellOutput),
    ];
}

/// A fact about how the capturing step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndOf {
    Success,
    ExitCode,
    Stderr,
}

impl EndOf {
    const NAMES: [(&str, Self); 3] =
        [("success", Self::Success), ("exit_code", Self::ExitCode), ("stderr", Self::Stderr)];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, end)| end)
    }
}

/// A name under which an earlier step has captured its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CapturedName {
    pub(crate) name: String,
    /// Set if paths can lead into it.
    pub(crate) is_json: bool,
}

/// A captured output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Captured {
    pub(crate) value: Value,
    pub(crate) success: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) stderr: String,
}
