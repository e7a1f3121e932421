//! Those who hear of what happens: of all events, or of one breaker's transitions.

use core::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

use crate::base::sync::{Arc, Mutex, Ordering, const_fn, lock};

/// A list of listeners; called outside of its lock; the panic of one does not reach the others.
pub(crate) struct Listeners<L: ?Sized> {
    list: Mutex<Vec<Arc<L>>>,
    /// Whether there has ever been one: without, nothing is locked.
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

    #[cfg(not(retry_loom))]
    pub(crate) fn remove(&self, listener: &Arc<L>) {
        lock(&self.list).retain(|other| !Arc::ptr_eq(other, listener));
    }

    /// Called without any lock: a listener may do what leads here again, or add another.
    pub(crate) fn notify(&self, mut call: impl FnMut(&L)) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let listeners = lock(&self.list).clone();
        for listener in listeners {
            contain_panic(|| call(&listener));
        }
    }
}

/// Runs what others wrote: its panic is reported by the panic hook, and goes no
/// further.
pub(crate) fn contain_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Its drop is theirs, too, and may panic again.
        mem::forget(payload);
    }
}
