//! The breakers of a family under a lock of many parts (a big-reader lock): a call locks the part
//! of its own thread, and a change of the set of keys locks all.
//!
//! A call that finds its breaker writes to no memory of other threads but the breaker's own.

#[cfg(not(retry_loom))]
use core::cell::Cell;
#[cfg(not(retry_loom))]
use core::sync::atomic::{AtomicUsize, Ordering};

use super::map::Map;
use crate::base::cache_line::CacheLine;
use crate::base::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, read, write};

/// Threads beyond this many share a part.
const PARTS: usize = if cfg!(retry_loom) { 2 } else { 16 };

/// Each part guards a handle of the same map. While all parts are locked for writing, one
/// of them has the only one, which may therefore be changed.
type Part<K> = RwLock<Option<Arc<Map<K>>>>;

pub(super) struct Table<K>([CacheLine<Part<K>>; PARTS]);

/// All parts are locked.
pub(super) struct Exclusive<'a, K>([RwLockWriteGuard<'a, Option<Arc<Map<K>>>>; PARTS]);

impl<K> Table<K> {
    pub(super) fn new(map: Map<K>) -> Self {
        let map = Arc::new(map);
        Self([(); PARTS].map(|()| CacheLine(RwLock::new(Some(Arc::clone(&map))))))
    }

    /// The map is always there: only who has locked all parts takes it out of them.
    #[inline]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Option<Arc<Map<K>>>> {
        read(&self.0[own_part()].0)
    }

    /// Waits until no call looks for a key.
    pub(super) fn write(&self) -> Exclusive<'_, K> {
        let mut parts = self.0.each_ref().map(|part| write(&part.0));
        for part in &mut parts[1..] {
            **part = None;
        }
        Exclusive(parts)
    }
}

impl<K> Exclusive<'_, K> {
    pub(super) fn map(&mut self) -> &mut Map<K> {
        let only = self.0[0].as_mut().and_then(Arc::get_mut);
        only.expect("the other parts have given theirs back")
    }
}

impl<K> Drop for Exclusive<'_, K> {
    /// Also where a key's author's code has panicked.
    fn drop(&mut self) {
        let [first, others @ ..] = &mut self.0;
        for part in others {
            (**part).clone_from(first);
        }
    }
}

/// The part of this thread: each takes the next one when it first asks.
#[cfg(not(retry_loom))]
#[inline]
fn own_part() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    OWN.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % PARTS);
        }
        own.get()
    })
}

/// Loom's threads are no threads of the standard library's.
#[cfg(retry_loom)]
fn own_part() -> usize {
    0
}
