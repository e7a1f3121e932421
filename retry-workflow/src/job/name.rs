//! Which names a job may have: they are part of ids, and appear in logs and terminals.

use std::error::Error;
use std::fmt;

/// Why a text is not a valid job name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidName {
    /// It is empty.
    Empty,
    /// It contains a control character, which could steer a terminal or begin a line.
    Control {
        /// The character.
        found: char,
        /// Its position, in bytes.
        at: usize,
    },
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("it is empty, but the ids of jobs are built from it: write one")
            }
            Self::Control { found, .. } => write!(
                f,
                "it contains the control character `{}`, but the ids of jobs are built from it: \
                 remove the character",
                found.escape_debug()
            ),
        }
    }
}

impl Error for InvalidName {}

/// Checks the name of a workflow, or the id of a job.
pub(crate) fn check(name: &str) -> Result<(), InvalidName> {
    if name.trim().is_empty() {
        return Err(InvalidName::Empty);
    }
    match name.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, found)) => Err(InvalidName::Control { found, at }),
        None => Ok(()),
    }
}
