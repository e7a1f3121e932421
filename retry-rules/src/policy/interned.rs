//! Interning of delay lists that are computed at runtime: each distinct list is kept until the
//! program ends, so that a policy can be `Copy`.

use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

/// From this number of lists on, they are most likely computed for each call.
const MANY: usize = 1_024;

/// Each list with its number, from 1.
static INTERNED: Mutex<BTreeMap<&'static [Duration], usize>> = Mutex::new(BTreeMap::new());

/// The number of lists, readable without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Interns a list, unless the same one is interned already.
pub(super) fn intern(delays: Vec<Duration>) -> &'static [Duration] {
    let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((list, _)) = interned.get_key_value(&*delays) {
        return list;
    }
    let list: &'static [Duration] = delays.leak();
    let number = interned.len() + 1;
    interned.insert(list, number);
    COUNT.store(number, Ordering::Relaxed);
    list
}

/// Returns how many lists are interned, if these are many and this one is not among the first.
pub(super) fn excess(list: &'static [Duration]) -> Option<usize> {
    let count = COUNT.load(Ordering::Relaxed);
    if count < MANY {
        return None;
    }
    let interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    let (present, number) = interned.get_key_value(list)?;
    // One that is written in a constant may be equal.
    (ptr::eq(*present, list) && *number >= MANY).then_some(count)
}
