//! [`RaceMember`]: one attempt of a race while it is polled or judged, and the permits of all of
//! them.

use core::mem;

use crate::call::hedge::race_attempts::RaceAttempts;
use crate::call::verdict::{Judgement, Verdict};
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::Permit;

/// The permits of the members that run.
pub(super) struct Permits<'a> {
    /// All but the one that the caller holds.
    parked: Vec<(u32, Permit<'a>)>,
    /// The number of the member whose permit the caller holds.
    pub(super) holder: u32,
}

impl<'a> Permits<'a> {
    pub(super) const fn new() -> Self {
        Self { parked: Vec::new(), holder: 0 }
    }

    pub(super) fn add(&mut self, number: u32, permit: Option<Permit<'a>>) {
        self.parked.extend(permit.map(|permit| (number, permit)));
    }

    /// Takes the permit of member `number`. If the caller holds it, the caller gets the permit of
    /// another member instead.
    #[cold]
    #[inline(never)]
    pub(super) fn take(
        &mut self,
        number: u32,
        held: Option<&mut Permit<'a>>,
    ) -> Option<Permit<'a>> {
        if self.holder != number {
            let at = self.parked.iter().position(|(of, _)| *of == number)?;
            return Some(self.parked.swap_remove(at).1);
        }
        let (other, permit) = self.parked.pop()?;
        self.holder = other;
        held.map(|held| mem::replace(held, permit))
    }

    /// Gives the caller the permit of member `number`, and parks the one that it held.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over(&mut self, number: u32, held: Option<&mut Permit<'a>>) {
        let parked = self.parked.iter_mut().find(|(of, _)| *of == number);
        if let (Some((of, permit)), Some(held)) = (parked, held) {
            mem::swap(permit, held);
            *of = mem::replace(&mut self.holder, number);
        }
    }
}

/// An attempt of a race while it is polled or judged. If that panics, only this attempt has
/// failed: the caller, which drops its permit during the panic, holds the permit of this member,
/// and the other permits are returned without a report.
pub struct RaceMember<'m, 'a> {
    number: u32,
    permits: &'m mut Permits<'a>,
    held: Option<&'m mut Permit<'a>>,
    pub(super) attempts: Option<&'a RaceAttempts>,
    /// Set if the race goes on after a failure of this member that would be retried.
    pub(super) others_run: bool,
    /// The number of the attempt, if the error of the call keeps its failures.
    pub(super) kept_as: Option<u32>,
    judgement: Option<Judgement>,
    failure: Option<PastFailure>,
    is_finished: bool,
}

impl<'m, 'a> RaceMember<'m, 'a> {
    /// Creates the member `number`, which is about to be polled.
    pub(super) fn new(
        number: u32,
        permits: &'m mut Permits<'a>,
        held: Option<&'m mut Permit<'a>>,
    ) -> Self {
        Self {
            number,
            permits,
            held,
            attempts: None,
            others_run: false,
            kept_as: None,
            judgement: None,
            failure: None,
            is_finished: false,
        }
    }

    /// Ends the poll or the judgement without a panic; returns the judgement on a failure, and, if
    /// the race goes on, the failure to be kept.
    #[inline(never)]
    pub(super) fn finish(mut self) -> (Option<Judgement>, Option<PastFailure>) {
        self.is_finished = true;
        (self.judgement, self.failure.take())
    }

    /// Records a failure with this verdict, unless the attempt itself ruled on it. If the race goes
    /// on, the failure is reported to the breaker now.
    pub fn failed(&mut self, verdict: Verdict<'_>) {
        let verdict = match self.attempts.and_then(|attempts| attempts.get(self.number)) {
            Some(attempt) => verdict.ruled_by(attempt),
            None => verdict,
        };
        self.judgement = Some(verdict.judgement);
        if self.others_run && verdict.judgement.allows_retry() {
            let class = verdict.judgement.class;
            let kept = |number| PastFailure::new(number, &verdict.error, class, None);
            self.failure = self.kept_as.map(kept);
            if let Some(permit) = self.permits.take(self.number, self.held.as_deref_mut()) {
                verdict.report(permit);
            }
        }
    }
}

impl Drop for RaceMember<'_, '_> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        if !self.is_finished {
            self.permits.hand_over(self.number, self.held.as_deref_mut());
            self.permits.parked.drain(..).for_each(|(_, permit)| permit.forgive());
        }
    }
}

retry_rules::partial_debug!(RaceMember<'_, '_>, |self| { number: &self.number });
