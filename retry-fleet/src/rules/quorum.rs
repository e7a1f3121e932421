//! The rule that opens a breaker everywhere: a sufficient share of its callers have opened it.

/// The number of live members that called a breaker lately, and how many of them have opened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The members that have called it lately. A rejected call counts as a call, and every member
    /// that has opened the breaker counts as a caller.
    pub callers: u32,
    /// The callers whose own breaker is open.
    pub openers: u32,
}

impl Tally {
    /// The tally with one more member that has opened it.
    pub(crate) const fn and_one_more(self) -> Self {
        Self { callers: self.callers.saturating_add(1), openers: self.openers.saturating_add(1) }
    }

    /// Returns whether the breaker opens for the whole fleet, which has this many live members.
    ///
    /// At least two members are needed, unless there is only one: a single bad node does not
    /// affect the others.
    pub(crate) fn is_quorum(self, opens_at: f64, members: u32) -> bool {
        let least = if members <= 1 { 1 } else { 2 };
        let callers = self.callers.max(self.openers);
        self.openers >= least && f64::from(self.openers) / f64::from(callers) >= opens_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opens(openers: u32, callers: u32, members: u32) -> bool {
        Tally { callers, openers }.is_quorum(0.5, members)
    }

    #[test]
    fn a_share_of_the_callers_opens_the_breaker() {
        assert!(opens(5, 10, 10) && opens(500, 1_000, 2_000));
        assert!(!opens(4, 10, 10) && !opens(499, 1_000, 2_000));
        assert!(Tally { callers: 10, openers: 7 }.is_quorum(0.7, 10), "7 of 10 is 0.7");
    }

    #[test]
    fn one_alone_opens_it_only_where_there_is_one() {
        assert!(!opens(1, 2, 2) && !opens(1, 1, 10), "a bad node poisons nobody");
        assert!(opens(2, 2, 10));
        assert!(opens(1, 1, 1) && !opens(0, 1, 1) && !opens(0, 0, 0));
    }
}
