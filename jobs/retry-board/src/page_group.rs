//! [`PageGroup`]: the jobs or the policies, which are mounted and signed in to separately.

use std::fmt;

/// A group of pages that is mounted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageGroup {
    Jobs,
    Policies,
}

impl PageGroup {
    /// The group's name, as addresses have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Policies => "policies",
        }
    }
}

impl fmt::Display for PageGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
