//! [`First`]: for reports that are made once per subject, not at each call.

use core::hash::Hash;
use std::collections::HashSet;
use std::sync::Mutex;

use crate::base::sync::unpoisoned;

/// The number of subjects that are remembered, so that names made at runtime do not use up memory.
const CAPACITY: usize = 4_096;

/// The subjects reported so far. At the capacity, all of them are forgotten, and each is reported
/// once more.
pub(crate) struct First<T>(Mutex<Option<HashSet<T>>>);

impl<T: Hash + Eq> First<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns whether this subject is seen for the first time.
    pub(crate) fn is_first(&self, subject: T) -> bool {
        let mut reported = unpoisoned(self.0.lock());
        let reported = reported.get_or_insert_default();
        if reported.len() >= CAPACITY && !reported.contains(&subject) {
            reported.clear();
        }
        reported.insert(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_first_once_until_very_many_others_were() {
        let first = First::new();
        for subject in 0..CAPACITY {
            assert!(first.is_first(subject));
        }
        assert!(!first.is_first(0));
        assert!(first.is_first(CAPACITY));
        assert!(first.is_first(0), "forgotten");
        assert!(!first.is_first(CAPACITY));
        for subject in 0..10 * CAPACITY {
            first.is_first(subject);
        }
        assert!(first.0.lock().unwrap().as_ref().unwrap().capacity() < 4 * CAPACITY);
    }
}
