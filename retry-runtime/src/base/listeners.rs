//! Lists of listeners: to all events, or to the transitions of one breaker.

use core::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

use crate::base::sync::{Arc, Mutex, Ordering, const_fn, lock};

/// A list of listeners. They are called outside the lock, and a panic in one does not reach the
/// others.
pub(crate) struct Listeners<L: ?Sized> {
    list: Mutex<Vec<Arc<L>>>,
    /// Set if a listener was ever added; until then, nothing is locked.
    any: AtomicBool,
}

impl<L: ?Sized> Listeners<L> {
    const_fn! {
    pub(crate) const fn new() -> Self {
        Self { list: Mutex::new(Vec::new()), any: AtomicBool::new(false) }
    }
    }

    pub(crate) fn add(&self, listener: Arc<L>) {
        lock(&self.list).push(listener);
        self.any.store(true, Ordering::Release);
    }

    pub(crate) fn remove(&self, listener: &Arc<L>) {
        lock(&self.list).retain(|other| !Arc::ptr_eq(other, listener));
    }

    /// Returns whether there has been a listener.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Calls each listener without holding the lock, so that it may end up here again or add
    /// another.
    pub(crate) fn notify(&self, mut call: impl FnMut(&L)) {
        if !self.any() {
            return;
        }
        let listeners = lock(&self.list).clone();
        for listener in listeners {
            contain_panic(|| call(&listener));
        }
    }
}

/// Runs code that is not ours: the panic hook reports a panic, which then goes no further.
pub(crate) fn contain_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload's `Drop` is not ours either, and may panic again.
        mem::forget(payload);
    }
}
