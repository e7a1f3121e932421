//! The breakers of a family, found by key.

use core::hash::Hash;
use core::mem::take;
use core::sync::atomic::AtomicBool;
use std::collections::HashMap;

use super::FamilyKey;
use super::ring::Found;
use crate::base::sync::{Arc, Ordering};
use crate::event::transition::State;
use crate::protect::breaker::CircuitBreaker;

pub(super) struct Map<K>(HashMap<K, Entry>);

struct Entry {
    breaker: Arc<CircuitBreaker>,
    /// Set if it was asked for since it was last looked at. Not loom's: nothing depends on the
    /// order of accesses to it.
    used: AtomicBool,
}

/// A key and its breaker that have left a map, to be dropped once no lock is held.
pub(super) type Removed<K> = Option<(K, Arc<CircuitBreaker>)>;

impl<K: Hash + Eq> Map<K> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    pub(super) fn find<Q: FamilyKey<K> + ?Sized>(&self, key: &Q) -> Option<Arc<CircuitBreaker>> {
        let entry = key.find(&self.0)?;
        // Written only where it changes, so that readers do not take the cache line from each
        // other.
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(&entry.breaker))
    }

    pub(super) fn insert(&mut self, key: K, breaker: Arc<CircuitBreaker>) {
        self.0.insert(key, Entry { breaker, used: AtomicBool::new(true) });
    }

    /// Removes the breaker of this key if it is idle and, where a use `spares` a closed one,
    /// unused.
    pub(super) fn remove_idle(&mut self, key: &K, spares: bool) -> Found<Removed<K>> {
        let Some(entry) = self.0.get_mut(key) else {
            // Its insertion was cut short by a panic of the key.
            return Found::Removed(None);
        };
        let used = take(entry.used.get_mut());
        // `get_mut` synchronises with the drop of all other handles, so their changes of state
        // are visible.
        match Arc::get_mut(&mut entry.breaker) {
            Some(breaker) if breaker.is_idle() => {
                // One that is idle though it is not closed was used before its time was over.
                if used && spares && breaker.state() == State::Closed {
                    return Found::Used;
                }
            }
            _ => return Found::Needed,
        }
        Found::Removed(self.0.remove_entry(key).map(|(key, entry)| (key, entry.breaker)))
    }

    pub(super) fn breakers(&self) -> impl Iterator<Item = &CircuitBreaker> {
        self.0.values().map(|entry| &*entry.breaker)
    }
}
