//! [`First`]: for reports that are made once per subject, not at each call.

use std::sync::Mutex;

use crate::base::sync::unpoisoned;

/// The number of subjects that are remembered, so that names made at runtime do not use up memory.
const CAPACITY: usize = 4_096;

/// The subjects reported so far, in order. At the capacity, each new one replaces its neighbour, or the
/// first one if it is the last; what it replaces may be reported once more.
pub(crate) struct First<T>(Mutex<Vec<T>>);

impl<T: Ord> First<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns whether this subject is seen for the first time.
    pub(crate) fn is_first(&self, subject: T) -> bool {
        let mut reported = unpoisoned(self.0.lock());
        let Err(place) = reported.binary_search(&subject) else { return false };
        if reported.len() < CAPACITY {
            reported.insert(place, subject);
        } else if place < CAPACITY {
            reported[place] = subject;
        } else {
            reported.remove(0);
            reported.push(subject);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_first_once_while_there_is_room() {
        let first = First::new();
        for subject in 0..CAPACITY {
            assert!(first.is_first(subject));
        }
        assert!(!first.is_first(0));
        assert!(first.is_first(CAPACITY));
        assert!(!first.is_first(CAPACITY));
        for subject in 0..10 * CAPACITY {
            first.is_first(subject);
        }
        assert_eq!(first.0.lock().unwrap().len(), CAPACITY);
        // Those that come last do not replace each other in turns.
        let last = [usize::MAX - 1, usize::MAX];
        assert_eq!(last.map(|subject| first.is_first(subject)), [true, true]);
        assert_eq!(last.map(|subject| first.is_first(subject)), [false, false]);
    }
}
