//! [`Places`]: how far into the index the claims of each job have come.
//!
//! Claimed and settled items leave dead entries in the index until vacuum removes them. A claim
//! begins after the last item that was claimed, and so does not scan them. Items may become due
//! before that place: those from other processes are found within a second, by a claim from the
//! beginning; those from this one at once, because it [goes back](Places::rewind_to) itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::layout::PRIORITIES_COUNT;

/// The longest time without a claim from the beginning.
const LOOK_BACK_EVERY: Duration = Duration::from_secs(1);

/// The place after an item: its due time and its number.
pub(crate) type After = (i64, i64);

/// The place before all items.
const BEGINNING: After = (i64::MIN, i64::MIN);

/// The cursors of a claim, one for each priority, the highest one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached([After; PRIORITIES_COUNT]);

impl Reached {
    /// Before all items.
    pub(crate) const NOTHING: Self = Self([BEGINNING; PRIORITIES_COUNT]);

    /// The due times and the numbers, as the parameters of a statement.
    pub(crate) fn columns(&self) -> (Vec<i64>, Vec<i64>) {
        self.0.iter().copied().unzip()
    }

    /// Comes at least as far as this item, at a level counted from 1.
    pub(crate) fn pass(&mut self, level: usize, after: After) {
        if let Some(reached) = level.checked_sub(1).and_then(|at| self.0.get_mut(at)) {
            *reached = (*reached).max(after);
        }
    }

    /// Comes at least as far at every level.
    pub(crate) fn pass_all(&mut self, after: After) {
        self.0.iter_mut().for_each(|reached| *reached = (*reached).max(after));
    }

    /// The place that is further on, at each level.
    pub(crate) fn max(mut self, other: Self) -> Self {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(reached, other)| *reached = (*reached).max(other));
        self
    }

    /// The same place, but before all items due at this time, at each level where it is past them.
    fn or_before(mut self, due: i64) -> Self {
        self.0.iter_mut().for_each(|reached| *reached = (*reached).min((due, i64::MIN)));
        self
    }
}

/// The cursors of a claim: one for new items, one for items that have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) new: Reached,
    pub(crate) begun: Reached,
}

impl Place {
    /// Before all items.
    pub(crate) const BEGINNING: Self = Self { new: Reached::NOTHING, begun: Reached::NOTHING };

    fn or_before(self, due: i64) -> Self {
        Self { new: self.new.or_before(due), begun: self.begun.or_before(due) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<PlaceByJob>);

#[derive(Debug)]
struct PlaceByJob {
    /// By job number: the place, and when a claim last began from the beginning.
    places: HashMap<i64, (Place, Instant)>,
    /// The number of claims are under way, and what was due first of all that was added since there
    /// was none: such a claim may have missed it.
    under_way: usize,
    added: i64,
}

impl Default for PlaceByJob {
    fn default() -> Self {
        Self { places: HashMap::new(), under_way: 0, added: i64::MAX }
    }
}

/// A claim that is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay<'a> {
    places: &'a Places,
    job: i64,
    /// The place where it begins.
    pub(crate) place: Place,
    looked_back: Instant,
}

impl UnderWay<'_> {
    /// Records how far it has come.
    pub(crate) fn advance_to(&self, place: &Place) {
        let mut inner = self.places.0.lock();
        let place = place.or_before(inner.added);
        inner.places.insert(self.job, (place, self.looked_back));
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut inner = self.places.0.lock();
        inner.under_way -= 1;
        if inner.under_way == 0 {
            inner.added = i64::MAX;
        }
    }
}

impl Places {
    /// Begins a claim of a job.
    pub(crate) fn begin(&self, job: i64) -> UnderWay<'_> {
        let mut inner = self.0.lock();
        inner.under_way += 1;
        let now = Instant::now();
        let (place, looked_back) = match inner.places.get(&job) {
            Some(&(place, looked_back)) if now.duration_since(looked_back) < LOOK_BACK_EVERY => {
                (place, looked_back)
            }
            _ => (Place::BEGINNING, now),
        };
        UnderWay { places: self, job, place, looked_back }
    }

    /// Goes back to items due at this time, wherever claims are past them.
    pub(crate) fn rewind_to(&self, due: i64) {
        let mut inner = self.0.lock();
        inner.added = inner.added.min(due);
        for (place, _) in inner.places.values_mut() {
            *place = place.or_before(due);
        }
        if inner.under_way == 0 {
            inner.added = i64::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(new: After, begun: After) -> Place {
        let mut place = Place::BEGINNING;
        place.new.pass(10, new);
        place.begun.pass(10, begun);
        place
    }

    #[test]
    fn a_claim_goes_on_behind_the_last_one() {
        let places = Places::default();
        places.begin(1).advance_to(&at((5, 7), (8, 9)));
        assert_eq!(places.begin(1).place, at((5, 7), (8, 9)));
        assert_eq!(places.begin(2).place, Place::BEGINNING);
        places.rewind_to(9);
        assert_eq!(places.begin(1).place, at((5, 7), (8, 9)), "what is due later comes by itself");
        places.rewind_to(6);
        assert_eq!(places.begin(1).place, at((5, 7), (6, i64::MIN)), "as far as need be");
    }

    #[test]
    fn a_claim_under_way_does_not_undo_the_way_back() {
        let places = Places::default();
        let claim = places.begin(1);
        places.rewind_to(5);
        claim.advance_to(&at((9, 9), (3, 3)));
        assert_eq!(places.begin(1).place, at((5, i64::MIN), (3, 3)));
        drop(claim);
        places.begin(1).advance_to(&at((9, 9), (9, 9)));
        assert_eq!(places.begin(1).place, at((9, 9), (9, 9)), "the next claim sees what was added");
    }
}
