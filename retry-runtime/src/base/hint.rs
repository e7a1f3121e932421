//! [`Hint`]: what a failure says about the next attempt.

use core::time::Duration;

/// The wait that a failure asks for before the next attempt.
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

    /// Returns the hint of two failures: [`Never`](Self::Never), or else the longer wait, which counts
    /// as one in a text if either is.
    pub(crate) fn of_both(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
        let wait = one.wait().zip(other.wait()).map(|(one, other)| one.max(other));
        let is_in_text = [one, other].iter().any(|hint| matches!(hint, Self::InText(_)));
        Some(wait.map_or(Self::Never, if is_in_text { Self::InText } else { Self::Wait }))
    }
}
