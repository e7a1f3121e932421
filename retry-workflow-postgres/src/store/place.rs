//! [`Places`]: how far into the index the claims of each job have come.
//!
//! Claimed items leave dead entries at the beginning of the index until vacuum removes them. A
//! claim begins after the last item that was claimed, and so does not scan them. Items may become
//! due before that place: those from other processes are found within a second, by a claim from the
//! beginning; those from this one at once, because it [goes back](Places::rewind_to) itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// How long claims may go without one from the beginning.
const LOOK_BACK_EVERY: Duration = Duration::from_secs(1);

/// The place before all items, as due time and item number.
pub(crate) const BEGINNING: (i64, i64) = (i64::MIN, i64::MIN);

#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By job number: the place, and when a claim last began from the beginning.
    places: HashMap<i64, ((i64, i64), Instant)>,
    /// Goes up whenever a place is given up.
    changes: u64,
}

/// Where a claim begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct From {
    pub(crate) place: (i64, i64),
    looked_back: Instant,
    changes: u64,
}

impl Places {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// Where the next claim of a job begins.
    pub(crate) fn of(&self, job: i64) -> From {
        let inner = self.lock();
        let now = Instant::now();
        let (place, looked_back) = match inner.places.get(&job) {
            Some(&(place, looked_back)) if now.duration_since(looked_back) < LOOK_BACK_EVERY => {
                (place, looked_back)
            }
            _ => (BEGINNING, now),
        };
        From { place, looked_back, changes: inner.changes }
    }

    /// Records that a claim which began at `from` has come as far as `place`.
    pub(crate) fn advance_to(&self, job: i64, from: From, place: (i64, i64)) {
        let mut inner = self.lock();
        if inner.changes == from.changes {
            inner.places.insert(job, (place, from.looked_back));
        }
    }

    /// Gives up all places that are past items due at this time.
    pub(crate) fn rewind_to(&self, due: i64) {
        let mut inner = self.lock();
        let before = inner.places.len();
        inner.places.retain(|_, ((place, _), _)| *place < due);
        // A claim under way may have missed those items, so its place must not count.
        if inner.places.len() < before || before == 0 {
            inner.changes += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_goes_on_behind_the_last_one() {
        let places = Places::default();
        places.advance_to(1, places.of(1), (5, 7));
        assert_eq!((places.of(1).place, places.of(2).place), ((5, 7), BEGINNING));
        places.rewind_to(6);
        assert_eq!(places.of(1).place, (5, 7), "what is due later comes by itself");
        places.rewind_to(5);
        assert_eq!(places.of(1).place, BEGINNING);
    }

    #[test]
    fn a_claim_under_way_does_not_undo_the_way_back() {
        let places = Places::default();
        let from = places.of(1);
        places.rewind_to(5);
        places.advance_to(1, from, (9, 9));
        assert_eq!(places.of(1).place, BEGINNING);
    }
}
