//! [`ClaimCursors`]: how far into the index the claims of each job have come.
//!
//! Claimed and settled items leave dead entries in the index until vacuum removes them: millions, if
//! a job is quick. A claim begins after the last item that was claimed, and so does not scan them.
//! Items may become due before that cursor: those from this process are found at once, because it
//! [goes back](ClaimCursors::rewind_to) itself; those from other processes, which are due when they
//! are added or put back, within a second, by a claim from a little before its own time. Any others,
//! such as imported items, are found by a claim from the beginning.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::layout::PRIORITIES_COUNT;

/// The longest time without a claim that goes back.
const GO_BACK_EVERY: Duration = Duration::from_secs(1);

/// The time before its own to which a claim goes back, in microseconds: clocks differ, and a
/// transaction takes a while.
const GO_BACK_BY: i64 = 10_000_000;

/// The longest time without a claim from the beginning.
const MAX_CURSOR_AGE: Duration = Duration::from_secs(10);

/// The cursor after an item: its due time and its number.
pub(crate) type Position = (i64, i64);

/// The cursor before all items.
const BEGINNING: Position = (i64::MIN, i64::MIN);

/// The cursors of a claim, one for each priority, the highest one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelCursors([Position; PRIORITIES_COUNT]);

impl LevelCursors {
    /// Before all items.
    pub(crate) const BEGINNING: Self = Self([BEGINNING; PRIORITIES_COUNT]);

    /// The due times and the numbers, as the parameters of a statement.
    pub(crate) fn columns(&self) -> (Vec<i64>, Vec<i64>) {
        self.0.iter().copied().unzip()
    }

    /// Comes at least as far as this item, at a level counted from 1.
    pub(crate) fn advance(&mut self, level: usize, after: Position) {
        if let Some(reached) = level.checked_sub(1).and_then(|at| self.0.get_mut(at)) {
            *reached = (*reached).max(after);
        }
    }

    /// Comes at least as far at every level.
    pub(crate) fn advance_all(&mut self, after: Position) {
        self.0.iter_mut().for_each(|reached| *reached = (*reached).max(after));
    }

    /// The cursor that is further on, at each level.
    pub(crate) fn max(mut self, other: Self) -> Self {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(reached, other)| *reached = (*reached).max(other));
        self
    }

    /// The same cursor, but before all items due at this time, at each level where it is past them.
    fn rewound_to(mut self, due: i64) -> Self {
        self.0.iter_mut().for_each(|reached| *reached = (*reached).min((due, i64::MIN)));
        self
    }
}

/// The cursors of a claim: one for new items, one for items that have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimCursor {
    pub(crate) new: LevelCursors,
    pub(crate) begun: LevelCursors,
}

impl ClaimCursor {
    /// Before all items.
    pub(crate) const BEGINNING: Self =
        Self { new: LevelCursors::BEGINNING, begun: LevelCursors::BEGINNING };

    fn rewound_to(self, due: i64) -> Self {
        Self { new: self.new.rewound_to(due), begun: self.begun.rewound_to(due) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ClaimCursors(Mutex<CursorsByJob>);

#[derive(Debug)]
struct CursorsByJob {
    /// By job number.
    cursors: HashMap<i64, KnownCursor>,
    /// The number of claims under way, and the earliest due time of the items that were added since
    /// no claim was: a claim under way may have missed them.
    under_way: usize,
    added: i64,
}

/// The cursor of a job.
#[derive(Clone, Copy, Debug)]
struct KnownCursor {
    cursor: ClaimCursor,
    /// The time at which a claim last went back.
    went_back: Instant,
    /// The time at which a claim last began from the beginning.
    began: Instant,
}

impl Default for CursorsByJob {
    fn default() -> Self {
        Self { cursors: HashMap::new(), under_way: 0, added: i64::MAX }
    }
}

/// A claim that is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct ClaimUnderWay<'a> {
    cursors: &'a ClaimCursors,
    job: i64,
    /// The cursor where it begins.
    pub(crate) cursor: ClaimCursor,
    /// The cursor to go back to if too little is due after that one.
    pub(crate) earlier: ClaimCursor,
    went_back: Instant,
    began: Instant,
}

impl ClaimUnderWay<'_> {
    /// Records how far it has come.
    pub(crate) fn advance_to(&self, cursor: &ClaimCursor) {
        let mut inner = self.cursors.0.lock();
        let cursor = cursor.rewound_to(inner.added);
        let Self { went_back, began, .. } = *self;
        inner.cursors.insert(self.job, KnownCursor { cursor, went_back, began });
    }
}

impl Drop for ClaimUnderWay<'_> {
    fn drop(&mut self) {
        let mut inner = self.cursors.0.lock();
        inner.under_way -= 1;
        if inner.under_way == 0 {
            inner.added = i64::MAX;
        }
    }
}

impl ClaimCursors {
    /// Begins a claim of a job, of items that are due at this time.
    pub(crate) fn begin(&self, job: i64, due: i64) -> ClaimUnderWay<'_> {
        let mut inner = self.0.lock();
        inner.under_way += 1;
        let now = Instant::now();
        let known = inner.cursors.get(&job).copied();
        let known = known.filter(|known| now.duration_since(known.began) < MAX_CURSOR_AGE);
        let Some(KnownCursor { cursor, went_back, began }) = known else {
            let cursor = ClaimCursor::BEGINNING;
            let (earlier, went_back, began) = (cursor, now, now);
            return ClaimUnderWay { cursors: self, job, cursor, earlier, went_back, began };
        };
        let earlier = cursor.rewound_to(due.saturating_sub(GO_BACK_BY));
        let goes_back = now.duration_since(went_back) >= GO_BACK_EVERY;
        let (cursor, went_back) = if goes_back { (earlier, now) } else { (cursor, went_back) };
        ClaimUnderWay { cursors: self, job, cursor, earlier, went_back, began }
    }

    /// Returns how far the claims of a job have come.
    pub(crate) fn of(&self, job: i64) -> ClaimCursor {
        self.0.lock().cursors.get(&job).map_or(ClaimCursor::BEGINNING, |known| known.cursor)
    }

    /// Goes back to items due at this time, wherever claims are past them.
    pub(crate) fn rewind_to(&self, due: i64) {
        let mut inner = self.0.lock();
        inner.added = inner.added.min(due);
        for known in inner.cursors.values_mut() {
            known.cursor = known.cursor.rewound_to(due);
        }
        if inner.under_way == 0 {
            inner.added = i64::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 3 * GO_BACK_BY;

    fn at(new: Position, begun: Position) -> ClaimCursor {
        let mut cursor = ClaimCursor::BEGINNING;
        cursor.new.advance(10, new);
        cursor.begun.advance(10, begun);
        cursor
    }

    #[test]
    fn a_claim_goes_on_behind_the_last_one() {
        let cursors = ClaimCursors::default();
        cursors.begin(1, NOW).advance_to(&at((5, 7), (8, 9)));
        assert_eq!(cursors.begin(1, NOW).cursor, at((5, 7), (8, 9)));
        assert_eq!(cursors.begin(2, NOW).cursor, ClaimCursor::BEGINNING);
        cursors.rewind_to(9);
        assert_eq!(
            cursors.begin(1, NOW).cursor,
            at((5, 7), (8, 9)),
            "what is due later comes by itself"
        );
        cursors.rewind_to(6);
        assert_eq!(cursors.begin(1, NOW).cursor, at((5, 7), (6, i64::MIN)), "as far as need be");
    }

    #[test]
    fn a_claim_that_goes_back_does_so_by_its_own_time() {
        let cursors = ClaimCursors::default();
        let first = cursors.begin(1, NOW);
        assert_eq!((first.cursor, first.earlier), (at(BEGINNING, BEGINNING), first.cursor));
        first.advance_to(&at((5, 7), (NOW - 1, 9)));
        drop(first);
        let back = at((5, 7), (NOW - GO_BACK_BY, i64::MIN));
        assert_eq!(cursors.begin(1, NOW).earlier, back, "not to what was due long ago");
        assert_eq!(cursors.of(1), at((5, 7), (NOW - 1, 9)));
        let passes = |time| {
            let known = &mut cursors.0.lock();
            let known = known.cursors.get_mut(&1).unwrap();
            let earlier = |at: Instant| at.checked_sub(time).unwrap();
            (known.went_back, known.began) = (earlier(known.went_back), earlier(known.began));
        };
        passes(GO_BACK_EVERY);
        let claim = cursors.begin(1, NOW);
        assert_eq!(claim.cursor, back);
        claim.advance_to(&at((5, 7), (NOW, 9)));
        assert_eq!(cursors.begin(1, NOW).cursor, at((5, 7), (NOW, 9)), "once a second");
        passes(MAX_CURSOR_AGE);
        assert_eq!(cursors.begin(1, NOW).cursor, ClaimCursor::BEGINNING);
    }

    #[test]
    fn a_concurrent_claim_does_not_undo_a_cursor_reset() {
        let cursors = ClaimCursors::default();
        let claim = cursors.begin(1, NOW);
        cursors.rewind_to(5);
        claim.advance_to(&at((9, 9), (3, 3)));
        assert_eq!(cursors.begin(1, NOW).cursor, at((5, i64::MIN), (3, 3)));
        drop(claim);
        cursors.begin(1, NOW).advance_to(&at((9, 9), (9, 9)));
        assert_eq!(
            cursors.begin(1, NOW).cursor,
            at((9, 9), (9, 9)),
            "the next claim sees what was added"
        );
    }
}
