//! [`ClaimCursors`]: how far into the index the claims of each job have come.
//!
//! Claimed and settled items leave dead entries in the index until vacuum removes them. A claim
//! begins after the last item that was claimed, and so does not scan them. Items may become due
//! before that cursor: those from other processes are found within a second, by a claim from the
//! beginning; those from this one at once, because it [goes back](ClaimCursors::rewind_to) itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::layout::PRIORITIES_COUNT;

/// The longest time without a claim from the beginning.
const MAX_CURSOR_AGE: Duration = Duration::from_secs(1);

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
    /// By job number: the cursor, and when a claim last began from the beginning.
    cursors: HashMap<i64, (ClaimCursor, Instant)>,
    /// The number of claims under way, and the earliest due time of the items that were added since
    /// no claim was: a claim under way may have missed them.
    under_way: usize,
    added: i64,
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
    began: Instant,
}

impl ClaimUnderWay<'_> {
    /// Records how far it has come.
    pub(crate) fn advance_to(&self, cursor: &ClaimCursor) {
        let mut inner = self.cursors.0.lock();
        let cursor = cursor.rewound_to(inner.added);
        inner.cursors.insert(self.job, (cursor, self.began));
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
    /// Begins a claim of a job.
    pub(crate) fn begin(&self, job: i64) -> ClaimUnderWay<'_> {
        let mut inner = self.0.lock();
        inner.under_way += 1;
        let now = Instant::now();
        let (cursor, began) = match inner.cursors.get(&job) {
            Some(&(cursor, began)) if now.duration_since(began) < MAX_CURSOR_AGE => (cursor, began),
            _ => (ClaimCursor::BEGINNING, now),
        };
        ClaimUnderWay { cursors: self, job, cursor, began }
    }

    /// Goes back to items due at this time, wherever claims are past them.
    pub(crate) fn rewind_to(&self, due: i64) {
        let mut inner = self.0.lock();
        inner.added = inner.added.min(due);
        for (cursor, _) in inner.cursors.values_mut() {
            *cursor = cursor.rewound_to(due);
        }
        if inner.under_way == 0 {
            inner.added = i64::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(new: Position, begun: Position) -> ClaimCursor {
        let mut cursor = ClaimCursor::BEGINNING;
        cursor.new.advance(10, new);
        cursor.begun.advance(10, begun);
        cursor
    }

    #[test]
    fn a_claim_goes_on_behind_the_last_one() {
        let cursors = ClaimCursors::default();
        cursors.begin(1).advance_to(&at((5, 7), (8, 9)));
        assert_eq!(cursors.begin(1).cursor, at((5, 7), (8, 9)));
        assert_eq!(cursors.begin(2).cursor, ClaimCursor::BEGINNING);
        cursors.rewind_to(9);
        assert_eq!(
            cursors.begin(1).cursor,
            at((5, 7), (8, 9)),
            "what is due later comes by itself"
        );
        cursors.rewind_to(6);
        assert_eq!(cursors.begin(1).cursor, at((5, 7), (6, i64::MIN)), "as far as need be");
    }

    #[test]
    fn a_concurrent_claim_does_not_undo_a_cursor_reset() {
        let cursors = ClaimCursors::default();
        let claim = cursors.begin(1);
        cursors.rewind_to(5);
        claim.advance_to(&at((9, 9), (3, 3)));
        assert_eq!(cursors.begin(1).cursor, at((5, i64::MIN), (3, 3)));
        drop(claim);
        cursors.begin(1).advance_to(&at((9, 9), (9, 9)));
        assert_eq!(
            cursors.begin(1).cursor,
            at((9, 9), (9, 9)),
            "the next claim sees what was added"
        );
    }
}
