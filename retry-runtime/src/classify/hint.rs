//! [`Hint`]: what a failure says about the next attempt.

use core::time::Duration;

/// The wait that a failure asks for before the next attempt. [`Never`](Self::Never) outweighs every
/// wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// The next attempt comes after this wait instead of the one on the curve.
    Wait(Duration),
    /// The server asks callers not to try again.
    Never,
}

impl Hint {
    /// A wait of zero, which counts as none if a server asks for it.
    pub(crate) const NOTHING: Self = Self::Wait(Duration::ZERO);

    /// Returns the wait, unless there is to be no next attempt.
    pub const fn wait(self) -> Option<Duration> {
        match self {
            Self::Wait(wait) => Some(wait),
            Self::Never => None,
        }
    }
}
