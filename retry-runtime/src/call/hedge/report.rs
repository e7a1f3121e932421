//! [`HedgeReport`]: the findings of a race, for the driver of its call.

use core::fmt;
use core::time::Duration;

use crate::call::session::{Decision, Verdict};
use crate::classify::Hint;
use crate::outcome::past_failure::PastFailure;

/// The findings of a race about the outcomes of its members. Empty, and without an allocation, if
/// no member was judged.
pub struct HedgeReport<R>(Option<Box<Findings<R>>>);

struct Findings<R> {
    verdicts: HedgeVerdicts,
    /// The last failure that would be retried, of a member that ended before the race.
    last: Option<(R, Decision)>,
}

/// The verdicts of a race.
#[derive(Debug)]
pub struct HedgeVerdicts {
    outcome: Judgement,
    /// The longest wait that the servers of all members asked for.
    hint: Option<Hint>,
    /// The longest wait that all members ruled.
    ruled: Option<Duration>,
    /// The longest wait of a server that a member overruled.
    overruled: Option<Duration>,
    /// The longest minimum wait that all members asked for.
    min_wait: Duration,
    /// The failures of members that ended before the race, if the error of the call keeps them.
    past: Option<Vec<PastFailure>>,
}

/// The judgement of a race on its outcome.
#[derive(Clone, Copy, Debug)]
enum Judgement {
    /// The race did not judge it.
    None,
    Success,
    Failure(Decision),
}

impl<R> HedgeReport<R> {
    /// Creates the report of a race that has not judged any member yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self(None)
    }

    #[cold]
    fn findings(&mut self) -> &mut Findings<R> {
        let verdicts = HedgeVerdicts::NONE;
        self.0.get_or_insert_with(|| Box::new(Findings { verdicts, last: None }))
    }

    /// Keeps an outcome that would be retried, while the race goes on.
    #[cold]
    pub(crate) fn keep(&mut self, outcome: R, verdict: Decision, failure: Option<PastFailure>) {
        let findings = self.findings();
        let verdicts = &mut findings.verdicts;
        verdicts.hint = verdicts.hint.max(verdict.hint);
        verdicts.ruled = verdicts.ruled.max(verdict.ruled);
        verdicts.overruled = verdicts.overruled.max(verdict.overruled);
        verdicts.min_wait = verdicts.min_wait.max(verdict.min_wait);
        if let Some(failure) = failure {
            verdicts.past.get_or_insert_default().push(failure);
        }
        findings.last = Some((outcome, verdict));
    }

    /// Records the verdict on the outcome of the race, or `None` for a success.
    #[cold]
    pub(crate) fn decide(&mut self, verdict: Option<Decision>) {
        self.findings().verdicts.outcome = verdict.map_or(Judgement::Success, Judgement::Failure);
    }

    /// Takes the last failure that would be retried: it is the outcome of a race that a time limit
    /// has ended.
    #[cold]
    pub(crate) fn take_last(&mut self) -> Option<R> {
        let findings = self.0.as_mut()?;
        let (outcome, verdict) = findings.last.take()?;
        findings.verdicts.outcome = Judgement::Failure(verdict);
        // It is kept as the outcome of the race.
        findings.verdicts.past.as_mut().and_then(Vec::pop);
        Some(outcome)
    }

    /// Returns the verdicts of the race.
    #[inline]
    pub fn verdicts(&self) -> &HedgeVerdicts {
        self.0.as_ref().map_or(&HedgeVerdicts::NONE, |findings| &findings.verdicts)
    }
}

impl HedgeVerdicts {
    /// The verdicts of a race that has not judged any member.
    pub(crate) const NONE: Self = Self {
        outcome: Judgement::None,
        hint: None,
        ruled: None,
        overruled: None,
        min_wait: Duration::ZERO,
        past: None,
    };

    /// Returns whether the outcome of the race is a failure, or `None` if the race did not judge
    /// it.
    #[cold]
    #[inline(never)]
    pub fn has_failed(&self) -> Option<bool> {
        match self.outcome {
            Judgement::None => None,
            Judgement::Success => Some(false),
            Judgement::Failure(_) => Some(true),
        }
    }

    /// Returns the verdict on the outcome of the race, without its error, if the race judged it
    /// to be a failure. Matchers, which may have state, are thereby called once for each outcome.
    #[cold]
    #[inline(never)]
    pub fn decided(&self) -> Option<&Decision> {
        match &self.outcome {
            Judgement::Failure(decision) => Some(decision),
            Judgement::None | Judgement::Success => None,
        }
    }

    /// Extends the wait that follows a failure to the longest one that any member asked for, and
    /// adds the failures of the other members.
    #[cold]
    #[inline(never)]
    pub fn extend<'v>(&'v self, verdict: &mut Verdict<'v>) {
        verdict.hint_of_others = self.hint;
        verdict.ruled = verdict.ruled.max(self.ruled);
        verdict.overruled = verdict.overruled.max(self.overruled);
        verdict.min_wait = verdict.min_wait.max(self.min_wait);
        verdict.past = self.past.as_deref().unwrap_or_default();
    }
}

impl<R> Default for HedgeReport<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> fmt::Debug for HedgeReport<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HedgeReport").field("verdicts", &self.verdicts()).finish_non_exhaustive()
    }
}
