//! The valid names of a job: they are part of ids, and appear in logs and terminals.

use thiserror::Error;

use crate::store::MAX_ID_BYTES;

/// The reason why a text is not a valid job name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// It is empty.
    #[error("it is empty, but the ids of jobs are built from it: write one")]
    Empty,
    /// It contains a control character, which could steer a terminal or begin a line.
    #[error(
        "it contains the control character `{}`, but the ids of jobs are built from it: remove the \
         character",
        .found.escape_debug()
    )]
    Control {
        /// The character.
        found: char,
        /// Its position, in bytes.
        at: usize,
    },
    /// It is longer than 900 bytes: the ids that are built from it would be too long for a store.
    #[error(
        "it is {bytes} bytes long, and {MAX_BYTES} are the most, because the ids of jobs are built \
         from it: shorten it"
    )]
    Long {
        /// Its length.
        bytes: usize,
    },
}

/// The largest length of a name, in bytes. The ids of jobs add a number or the name of a part.
const MAX_BYTES: usize = MAX_ID_BYTES - 100;

/// Checks the name of a workflow, or the id of a job.
pub(crate) fn check(name: &str) -> Result<(), InvalidName> {
    if name.trim().is_empty() {
        return Err(InvalidName::Empty);
    }
    if name.len() > MAX_BYTES {
        return Err(InvalidName::Long { bytes: name.len() });
    }
    match name.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, found)) => Err(InvalidName::Control { found, at }),
        None => Ok(()),
    }
}
