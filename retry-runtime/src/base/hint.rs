//! [`Hint`]: what a failure says about the next attempt.

use core::cmp::Ordering;
use core::time::Duration;

/// The wait that a failure asks for before the next attempt. Of several failures, the one with the
/// greatest hint counts: [`Never`](Self::Never), or else the longest wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Like [`Wait`](Self::Wait), but only a text states it. A wait shorter than the curve's first is
    /// raised to that.
    InText(Duration),
    /// The next attempt comes after this wait instead of the one on the curve.
    Wait(Duration),
    /// The server asks callers not to try again.
    Never,
}

impl Ord for Hint {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |hint: &Self| (*hint == Self::Never, hint.wait(), matches!(hint, Self::Wait(_)));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Hint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hint {
    /// A wait of zero, which counts as none if a server asks for it.
    pub(crate) const NOTHING: Self = Self::Wait(Duration::ZERO);

    /// Returns the wait, unless there is to be no next attempt.
    pub const fn wait(self) -> Option<Duration> {
        match self {
            Self::InText(wait) | Self::Wait(wait) => Some(wait),
            Self::Never => None,
        }
    }
}
