//! [`HedgeReport`]: the findings of a race, for the driver of its call.

use core::fmt;

use crate::call::verdict::{Judgement, Verdict};
use crate::classify::probe::ErrorDisplay;
use crate::outcome::past_failure::PastFailure;

/// The findings of a race about the outcomes of its members. Empty, and without an allocation, if
/// no member was judged.
pub struct HedgeReport<R>(Option<Box<Findings<R>>>);

struct Findings<R> {
    /// The judgement on the outcome of the race: a success, or a failure. `None` if the race did
    /// not judge it.
    outcome: Option<Result<(), Judgement>>,
    /// The last failure that would be retried, of a member that ended before the race.
    last: Option<(R, Judgement)>,
    /// The longest waits of all members that ended before the race.
    longest: Judgement,
    /// The failures of these members, if the error of the call keeps them.
    past: Vec<PastFailure>,
}

impl<R> HedgeReport<R> {
    /// Creates the report of a race that has not judged any member yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self(None)
    }

    #[cold]
    fn findings(&mut self) -> &mut Findings<R> {
        self.0.get_or_insert_with(|| {
            let longest = Judgement::VALUE;
            Box::new(Findings { outcome: None, last: None, longest, past: Vec::new() })
        })
    }

    /// Keeps an outcome that would be retried, while the race goes on.
    #[cold]
    pub(crate) fn keep(&mut self, outcome: R, judgement: Judgement, failure: Option<PastFailure>) {
        let findings = self.findings();
        findings.longest.extend(&judgement);
        findings.past.extend(failure);
        findings.last = Some((outcome, judgement));
    }

    /// Records the judgement on the outcome of the race.
    #[cold]
    pub(crate) fn decide(&mut self, outcome: Result<(), Judgement>) {
        self.findings().outcome = Some(outcome);
    }

    /// Takes the last failure that would be retried: it is the outcome of a race that a time limit
    /// has ended.
    #[cold]
    pub(crate) fn take_last(&mut self) -> Option<R> {
        let findings = self.0.as_mut()?;
        let (outcome, judgement) = findings.last.take()?;
        findings.outcome = Some(Err(judgement));
        // It is kept as the outcome of the race.
        findings.past.pop();
        Some(outcome)
    }

    /// Returns whether the outcome of the race is a failure, or `None` if the race did not judge
    /// it.
    #[inline]
    pub fn has_failed(&self) -> Option<bool> {
        Some(self.0.as_ref()?.outcome?.is_err())
    }

    /// Returns the verdict on the outcome of the race, which events show as `error`, if the race
    /// judged it to be a failure. Matchers, which may have state, are thereby called once for each
    /// outcome.
    #[inline]
    pub fn verdict<'e>(&self, error: ErrorDisplay<'e>) -> Option<Verdict<'e>> {
        Some(self.0.as_ref()?.outcome?.err()?.on(error))
    }

    /// Extends the wait that follows a failure to the longest one that any member asked for, and
    /// adds the failures of the other members.
    #[inline]
    pub fn extend<'v>(&'v self, verdict: &mut Verdict<'v>) {
        if let Some(findings) = &self.0 {
            verdict.judgement.extend(&findings.longest);
            verdict.past = &findings.past;
        }
    }
}

impl<R> Default for HedgeReport<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> fmt::Debug for HedgeReport<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HedgeReport").field("has_failed", &self.has_failed()).finish()
    }
}
