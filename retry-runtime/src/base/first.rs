//! [`First`]: for reports that are made once per subject, not at each call.

use core::hash::Hash;
use std::collections::HashSet;
use std::sync::Mutex;

use crate::base::sync::unpoisoned;

/// The subjects reported so far.
pub(crate) struct First<T>(Mutex<Option<HashSet<T>>>);

impl<T: Hash + Eq> First<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns whether this subject is seen for the first time.
    pub(crate) fn is_first(&self, subject: T) -> bool {
        let mut reported = unpoisoned(self.0.lock());
        reported.get_or_insert_default().insert(subject)
    }
}
